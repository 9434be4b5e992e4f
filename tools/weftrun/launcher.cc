#include "tools/weftrun/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/deadline.h"
#include "runtime/base/unique_fd.h"
#include "tools/weftrun/blocked_signals.h"
#include "tools/weftrun/event_loop.h"
#include "tools/weftrun/exit_status.h"
#include "tools/weftrun/fleet.h"
#include "tools/weftrun/guard_process.h"
#include "tools/weftrun/host_plans.h"
#include "tools/weftrun/input_source.h"
#include "tools/weftrun/process_tree.h"
#include "tools/weftrun/rank_output.h"
#include "tools/weftrun/remote_host.h"

namespace weft {
namespace {

// Puts /dev/null in the place of closed standard streams, so that no descriptor
// of ours, opened later, is taken for one.
void OpenStandardStreams() {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

class Launcher {
 public:
  explicit Launcher(const Options& options)
      : options_(options),
        plans_(PlanHosts(options)),
        fleet_(options.placement.map, HostNames(plans_),
               {.has_authority = plans_[0].node.has_value(),
                .survivors_go_on = options.survivors_go_on},
               {.send = [this](uint32_t host, const Frame& frame) { Send(host, frame); },
                .say = [this](const std::string& line) { Say(line); }}),
        remotes_(plans_.size()),
        output_owed_(plans_.size()) {}

  int Run();

 private:
  absl::Status Prepare();
  absl::Status StartHosts();
  // `input` is not the guard's.
  absl::Status StartGuard(UniqueFd& input);
  absl::Status StartRemote(uint32_t host);
  void ForwardInput(uint32_t host, UniqueFd input);
  // Waits for what happens, and handles it.
  void RunOnce();

  void Send(uint32_t host, const Frame& frame);
  void OnFrame(uint32_t host, const Frame& frame);
  // Of a remote host, the last of it.
  void OnEnded(uint32_t host, std::string_view why, bool started);
  void OnSignals();
  void OnGuardEnded(int wait_status);
  void CheckOutput();
  // Lets hosts whose output is out of the way send on.
  void ReturnOutput();
  bool HasRemotes() const { return plans_[0].node.has_value(); }
  // Which host the rank that reads standard input runs on, if not on this.
  std::optional<uint32_t> InputHost() const;
  bool HostsLeft() const;
  // Whether weftrun runs on every host that it is to run on.
  bool AllStarted() const;
  int Finish();

  RankOutput& output(int stream) { return *outputs_[stream - 1]; }
  // Processes that are not below our guard.
  std::vector<pid_t> Spared() const;
  void Say(const std::string& line);
  void Narrate(const std::string& line);

  const Options& options_;
  const int64_t started_ = MonotonicNanos();
  EventLoop loop_;
  const std::vector<NodePlan> plans_;  // By node.
  Fleet fleet_;
  const std::optional<uint32_t> here_ = LocalHost(plans_);  // The node that is this machine.
  GuardProcess guard_;
  std::vector<std::unique_ptr<RemoteHost>> remotes_;  // By node; null: this machine, or ended.
  std::deque<std::unique_ptr<RemoteHost>> ended_;     // Kept while their handlers may run.
  std::vector<uint64_t> output_owed_;                 // By node: bytes that may come again.
  std::unique_ptr<InputSource> input_;
  BlockedSignals signals_;
  std::optional<RankOutput> outputs_[2];  // By stream.
  // Children that this process had before it became weftrun.
  std::vector<pid_t> foreign_;
  Deadline timeout_;
  bool output_lost_ = false;
  int user_signals_ = 0;  // How many have asked to end.
};

int Launcher::Run() {
  absl::Status status = Prepare();
  if (status.ok()) status = StartHosts();
  if (!status.ok()) {
    // The guard, if there is one already, sees the life-line close; so does a keeper.
    std::string line = absl::StrCat("weftrun: ", status.message(), "\n");
    StreamWriter writer(STDERR_FILENO);
    writer.Append(line);
    writer.Flush();
    return kExitLauncher;
  }
  while (!fleet_.over() || HostsLeft()) RunOnce();
  return Finish();
}

absl::Status Launcher::Prepare() {
  const size_t own_ranks = here_ ? plans_[*here_].Ranks().size() : 0;
  if (absl::Status raised = guard_.Prepare(own_ranks, HasRemotes() ? plans_.size() * 2 : 0);
      !raised.ok()) {
    return raised;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  siginfo_t any;
  if (waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) == 0) foreign_ = Descendants({});
  // Other hosts would take a launcher that is stopped for lost.
  absl::Status blocked = signals_.Block({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2},
                                        HasRemotes() ? SIGTSTP : SIGTTOU);
  if (!blocked.ok()) return blocked;
  for (int stream : {1, 2}) {
    outputs_[stream - 1].emplace(options_.tag_output, stream, loop_,
                                 [this, stream](bool listen) { guard_.Listen(stream, listen); });
  }
  return loop_.Add(signals_.fd(), EPOLLIN, [this](uint32_t) { OnSignals(); });
}

absl::Status Launcher::StartHosts() {
  const auto input_host = InputHost();
  UniqueFd input;
  if (input_host) input.reset(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  // The guard first: it inherits no agent's pipes then.
  if (here_) {
    if (absl::Status status = StartGuard(input); !status.ok()) return status;
  }
  for (uint32_t host = 0; host < plans_.size(); ++host) {
    if (here_ == host) continue;
    if (absl::Status status = StartRemote(host); !status.ok()) return status;
  }
  if (input_host) ForwardInput(*input_host, std::move(input));
  // An only guard does it by itself, and knows more.
  if (HasRemotes() && options_.timeout != absl::InfiniteDuration()) {
    timeout_ = Deadline::After(options_.timeout);
  }
  return absl::OkStatus();
}

std::optional<uint32_t> Launcher::InputHost() const {
  if (!HasRemotes() || !options_.stdin_rank) return std::nullopt;
  const uint32_t host = options_.placement.map.of(*options_.stdin_rank);
  return here_ == host ? std::nullopt : std::optional(host);
}

absl::Status Launcher::StartGuard(UniqueFd& input) {
  // A rank that read the terminal from the background would take what is typed
  // for the shell: it is in another session, so nothing would stop it.
  const pid_t foreground = tcgetpgrp(STDIN_FILENO);
  const bool withhold_stdin = foreground >= 0 && foreground != getpgrp();
  const uint32_t host = *here_;
  absl::Status status = guard_.Start(
      loop_, plans_[host], signals_.mask_before(), withhold_stdin,
      [&] {
        signals_.CloseInChild();
        input.reset();
      },
      {.on_frame = [this, host](const Frame& frame) { OnFrame(host, frame); },
       .on_output = [this](int stream, Rank rank,
                           std::string_view text) { output(stream).Deliver(rank, text); }});
  Narrate(absl::StrFormat("process %d starts %d ranks under guard %d", getpid(),
                          plans_[host].Ranks().size(), guard_.pid()));
  return status;
}

absl::Status Launcher::StartRemote(uint32_t host) {
  remotes_[host] = std::make_unique<RemoteHost>(
      plans_[host].host, options_.agent,
      RemoteHost::Events{.on_frame = [this, host](const Frame& frame) { OnFrame(host, frame); },
                         .on_ended = [this, host](std::string_view why,
                                                  bool started) { OnEnded(host, why, started); }});
  absl::Status status =
      remotes_[host]->Start(loop_, plans_[host], options_.remote_weftrun, signals_.mask_before());
  Narrate(absl::StrFormat("process %d starts %d ranks on %s through agent %d", getpid(),
                          plans_[host].Ranks().size(), plans_[host].host,
                          remotes_[host] ? remotes_[host]->agent() : 0));
  return status;
}

void Launcher::ForwardInput(uint32_t host, UniqueFd input) {
  const pid_t foreground = tcgetpgrp(input.get());
  // As in StartGuard.
  if (foreground >= 0 && foreground != getpgrp()) {
    Send(host, {.type = Frame::Type::kInput});
    return;
  }
  input_ = std::make_unique<InputSource>(std::move(input), loop_, [this, host](std::string text) {
    Send(host, {.type = Frame::Type::kInput, .data = std::move(text)});
  });
  input_->Start();
}

void Launcher::RunOnce() {
  Deadline next = std::min(timeout_, fleet_.next());
  for (const auto& remote : remotes_) {
    if (remote) next = std::min(next, remote->next());
  }
  loop_.RunOnce(next);
  ended_.clear();
  for (uint32_t host = 0; host < remotes_.size(); ++host) {
    if (remotes_[host]) remotes_[host]->Tick();
    if (remotes_[host] && fleet_.decided()) remotes_[host]->GiveUpStart();
  }
  ended_.clear();
  fleet_.Tick(MonotonicNanos());
  if (timeout_.Expired()) {
    timeout_ = Deadline();
    fleet_.TimeOut(options_.timeout);
  }
  CheckOutput();
  ReturnOutput();
}

void Launcher::Send(uint32_t host, const Frame& frame) {
  if (here_ == host) {
    guard_.Send(frame);
  } else if (remotes_[host]) {
    remotes_[host]->Send(frame);
  }
}

void Launcher::OnFrame(uint32_t host, const Frame& frame) {
  switch (frame.type) {
    case Frame::Type::kNarration:
      Narrate(frame.text);
      break;
    case Frame::Type::kHello:
      Narrate(
          absl::StrFormat("%s: keeper %d runs on %s", plans_[host].host, frame.number, frame.text));
      break;
    case Frame::Type::kOutput:
      if (frame.first != 1 && frame.first != 2) break;
      output(static_cast<int>(frame.first)).Deliver(frame.rank, frame.data);
      output_owed_[host] += frame.data.size();
      break;
    case Frame::Type::kInputTaken:
      if (input_) input_->Taken(frame.first);
      break;
    default:
      fleet_.Receive(host, frame);
      if (fleet_.ended(host) && remotes_[host]) remotes_[host]->Release();
  }
}

void Launcher::OnEnded(uint32_t host, std::string_view why, bool started) {
  if (!fleet_.ended(host)) Narrate(absl::StrCat(plans_[host].host, ": ", std::string(why)));
  if (started) {
    fleet_.Lose(host, why);
  } else {
    fleet_.FailToStart(host, why);
  }
  ended_.push_back(std::move(remotes_[host]));
}

void Launcher::ReturnOutput() {
  if (output(1).full() || output(2).full()) return;
  for (uint32_t host = 0; host < remotes_.size(); ++host) {
    const uint64_t bytes = std::exchange(output_owed_[host], 0);
    if (bytes > 0) Send(host, {.type = Frame::Type::kOutputTaken, .first = bytes});
  }
}

void Launcher::OnSignals() {
  while (const int signal = signals_.Next()) {
    if (signal == SIGCHLD) {
      if (const auto status = guard_.Reap()) OnGuardEnded(*status);
      for (auto& remote : remotes_) {
        if (remote) remote->Reap();
      }
      continue;
    }
    if (signal != SIGUSR1 && signal != SIGUSR2) ++user_signals_;
    Narrate(absl::StrCat("got ", DescribeSignal(signal)));
    // From the third on a guard that does not answer is not waited for.
    if (user_signals_ > 2 || fleet_.over()) {
      KillDescendants(
          foreign_, [](pid_t, int) {}, Deadline::After(absl::Seconds(10)));
      _exit(kExitSignal + signal);
    }
    fleet_.Signal(signal);
    if (signal != SIGUSR1 && signal != SIGUSR2 && !AllStarted()) {
      fleet_.CutShort(kExitSignal + signal,
                      absl::StrCat("the job was ended by ", DescribeSignal(signal)));
    }
  }
}

std::vector<pid_t> Launcher::Spared() const {
  std::vector<pid_t> spared = foreign_;
  for (const auto& remote : remotes_) {
    if (remote && remote->agent() != 0) spared.push_back(remote->agent());
  }
  return spared;
}

void Launcher::OnGuardEnded(int wait_status) {
  if (fleet_.ended(*here_)) return;
  // Its ranks die with it; their children are ours now. Agents that end meanwhile are
  // noticed by their channels.
  const bool killed = KillDescendants(
      Spared(), [](pid_t, int) {}, Deadline::After(absl::Seconds(10)));
  const std::string how = absl::StrCat("weftrun's guard ", DescribeEnd(wait_status));
  fleet_.Lose(*here_,
              killed ? how : absl::StrCat(how, " (some of its processes could not be killed)"));
}

void Launcher::CheckOutput() {
  const int error = output(1).writer().error();
  if (error == 0 || output_lost_) return;
  output_lost_ = true;
  // Whoever read it has gone: that is usual in a pipeline, and no news.
  if (error == EPIPE) {
    fleet_.CutShort(kExitSignal + SIGPIPE, "");
  } else {
    fleet_.CutShort(kExitLauncher, absl::StrCat("cannot write standard output: ", strerror(error)));
  }
}

bool Launcher::HostsLeft() const {
  return guard_.pid() != 0 ||
         std::ranges::any_of(remotes_, [](const auto& remote) { return remote != nullptr; });
}

bool Launcher::AllStarted() const {
  return std::ranges::all_of(
      remotes_, [](const auto& remote) { return remote == nullptr || remote->started(); });
}

int Launcher::Finish() {
  guard_.FinishOutput();
  if (!fleet_.line().empty()) Say(fleet_.line());
  const int code = fleet_.code();
  Narrate(absl::StrFormat("exits with status %d", code));
  // Whoever reads may take their time, unless the user wants to be gone: then
  // only as long as something moves.
  const bool hurry = user_signals_ > 0 || code == kExitTimeout;
  const auto pending = [this] {
    return output(1).writer().pending() + output(2).writer().pending();
  };
  while (const size_t before = pending()) {
    loop_.RunOnce(hurry ? Deadline::After(absl::Seconds(1)) : Deadline());
    if (hurry && pending() == before) break;
  }
  // Lost at the very end, when there was no job to end any more.
  const int error = output(1).writer().error();
  if (code == 0 && error == EPIPE) return kExitSignal + SIGPIPE;
  if (code == 0 && error != 0) {
    Say(absl::StrCat("cannot write standard output: ", strerror(error)));
    return kExitLauncher;
  }
  return code;
}

void Launcher::Say(const std::string& line) {
  output(2).writer().Append(absl::StrCat("weftrun: ", line, "\n"));
  output(2).Flush();
}

void Launcher::Narrate(const std::string& line) {
  if (!options_.verbose) return;
  Say(absl::StrFormat("%.4f s: %s", static_cast<double>(MonotonicNanos() - started_) * 1e-9, line));
}

}  // namespace

int Launch(const Options& options) {
  OpenStandardStreams();
  return Launcher(options).Run();
}

}  // namespace weft
