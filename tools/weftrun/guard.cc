#include "tools/weftrun/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/weftrun/binding.h"
#include "tools/weftrun/ending.h"
#include "tools/weftrun/event_loop.h"
#include "tools/weftrun/exit_status.h"
#include "tools/weftrun/frame_stream.h"
#include "tools/weftrun/job_server.h"
#include "tools/weftrun/node_server.h"
#include "tools/weftrun/process_tree.h"
#include "tools/weftrun/rank_link.h"
#include "tools/weftrun/rank_list.h"
#include "tools/weftrun/spawn.h"
#include "tools/weftrun/uplink.h"

namespace weft {
namespace {

// Ranks are forked in batches, between which the guard looks at what happens.
constexpr size_t kBatch = 16;
// So many datagrams of a rank are handled before the others' are; and what a
// rank has sent before its end, which no socket holds more of.
constexpr int kTurn = 64;
constexpr int kLastTurn = 4096;

class Guard final : public NodeServer::Outside {
 public:
  explicit Guard(GuardSetup setup)
      : setup_(std::move(setup)),
        plan_(*setup_.plan),
        options_(plan_.options),
        lifeline_(std::move(setup_.lifeline)),
        uplink_([this](const Frame& frame) { lifeline_.Send(frame); }),
        server_(plan_.map, plan_.node, Authority(), *this),
        ranks_(plan_.map.size()) {}

  void Run();

  void Send(Rank to, const WireMessage& message, const NodeFds* fds) override;
  void OnJoined(Rank rank, pid_t process) override;
  void OnLeft(Rank rank) override;
  void OnAbort(Rank rank, int code, std::string_view message) override;

 private:
  struct RankState {
    pid_t process = 0;  // 0: not started, or ended.
    RankLink link;
    // Of the process that joined, if it is not `process` itself but a child.
    UniqueFd joined_pidfd;
  };

  // The job's: our own, if this is its only host.
  JobAuthority& Authority();
  // Handles what happens until the deadline or what is due before it.
  void RunOnce(Deadline deadline);
  bool SetUp();
  void StartRanks();
  bool StartRank(Rank rank, size_t index);
  void OnLauncher(const Frame& frame);
  void OnLauncherGone();
  void OnLink(Rank rank);
  void Receive(Rank rank, int limit);
  void OnReaped(pid_t process, int wait_status);
  void OnRankEnded(Rank rank, pid_t process, int wait_status);
  void OnJoinedProcessEnded(Rank rank, pid_t process);
  void Take(Ending::Step step);
  void SignalRanks(int signal);
  void OnTimeout();
  void KillAll();
  // Tells the launcher, once, what has decided how the job ends.
  void ReportFailure();
  void Report();

  void CannotStart(std::string why);
  std::string Name(Rank rank, pid_t process) const;
  void Narrate(std::string text);

  GuardSetup setup_;
  const NodePlan& plan_;
  const Options& options_;
  const std::vector<Rank> own_ = plan_.Ranks();
  const std::vector<int> cpus_ = AllowedCpus();
  EventLoop loop_;
  FrameStream lifeline_;
  UniqueFd child_signals_;
  UniqueFd empty_stdin_;
  SpawnFailures failures_;
  Uplink uplink_;
  std::optional<JobServer> job_;
  NodeServer server_;
  std::vector<RankState> ranks_;
  std::unordered_map<pid_t, Rank> rank_of_;  // Of the ranks that run.
  Ending ending_;
  bool failure_reported_ = false;
  Deadline timeout_;
  // The rank whose child failed in its place; its own end may tell more.
  std::optional<Rank> unexplained_;
  std::string not_killed_;
};

JobAuthority& Guard::Authority() {
  if (plan_.node) return uplink_;
  return job_.emplace(plan_.map.size(), plan_.map.nodes(), /*memories=*/1, server_);
}

void Guard::Run() {
  if (SetUp()) StartRanks();
  while (!rank_of_.empty()) RunOnce(Deadline());
  // Whatever the ranks have left behind.
  KillAll();
  Report();
}

void Guard::RunOnce(Deadline deadline) {
  loop_.RunOnce(std::min({deadline, ending_.next(), timeout_}));
  if (timeout_.Expired()) OnTimeout();
  ReportFailure();
  Take(ending_.Due(MonotonicNanos()));
}

bool Guard::SetUp() {
  // The name that ps shows, so that a user can tell the two processes apart.
  prctl(PR_SET_NAME, "weftrun-guard");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  setsid();

  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  sigset_t blocked = child_ended;
  // Writing to a launcher that is dead is an error and no death.
  sigaddset(&blocked, SIGPIPE);
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  child_signals_.reset(signalfd(-1, &child_ended, SFD_CLOEXEC | SFD_NONBLOCK));
  empty_stdin_.reset(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!child_signals_ || !empty_stdin_ || !failures_.Open()) {
    CannotStart(absl::StrCat("cannot open a descriptor: ", strerror(errno)));
    return false;
  }
  // It writes nothing itself, and must not keep others' pipes open.
  dup2(empty_stdin_.get(), STDOUT_FILENO);
  dup2(empty_stdin_.get(), STDERR_FILENO);
  if (setup_.withhold_stdin || !options_.stdin_rank) dup2(empty_stdin_.get(), STDIN_FILENO);

  absl::Status watched = loop_.Add(child_signals_.get(), EPOLLIN, [this](uint32_t) {
    signalfd_siginfo ignored;
    while (read(child_signals_.get(), &ignored, sizeof(ignored)) > 0) {
    }
    ReapChildren([this](pid_t process, int status) { OnReaped(process, status); });
  });
  watched.Update(lifeline_.Start(
      loop_, [this](const Frame& frame) { OnLauncher(frame); },
      [this](const absl::Status&) { OnLauncherGone(); }));
  if (!watched.ok()) CannotStart(std::string(watched.message()));
  if (options_.timeout != absl::InfiniteDuration()) timeout_ = Deadline::After(options_.timeout);
  return watched.ok();
}

void Guard::StartRanks() {
  for (size_t i = 0; i < own_.size() && !ending_.begun(); ++i) {
    if (!StartRank(own_[i], i)) break;
    if (i % kBatch == kBatch - 1) RunOnce(Deadline::AtMonotonicNanos(0));
  }
  // Only the ranks have the ends of their pipes from here on.
  setup_.stdout_pipes.clear();
  setup_.stderr_pipes.clear();
  failures_.CloseWriter();
  dup2(empty_stdin_.get(), STDIN_FILENO);
}

bool Guard::StartRank(Rank rank, size_t index) {
  auto [own, theirs] = MakeRankSocket();
  if (!own) {
    CannotStart(absl::StrFormat("cannot make a socket for rank %u: %s", rank, strerror(errno)));
    return false;
  }
  const SpawnContext context = {.options = &options_,
                                .map = &plan_.map,
                                .signal_mask = setup_.signal_mask,
                                .open_files = setup_.open_files,
                                .failures = failures_.writer()};
  const pid_t process =
      Spawn(context, {.rank = rank,
                      .inherits_stdin = options_.stdin_rank == rank,
                      .empty_stdin = empty_stdin_.get(),
                      .stdout_fd = setup_.stdout_pipes[index].get(),
                      .stderr_fd = setup_.stderr_pipes[index].get(),
                      .socket = theirs.get(),
                      .cpus = CpusOf(static_cast<Rank>(index), static_cast<Rank>(own_.size()),
                                     options_.binding, cpus_)});
  if (process < 0) {
    CannotStart(absl::StrFormat(
        "cannot start rank %u of %u on %s: %s%s", rank, plan_.map.size(), plan_.host,
        strerror(errno),
        errno == EAGAIN ? "; raise the limit on processes (ulimit -u, or pids.max of the cgroup), "
                          "or start fewer ranks"
                        : ""));
    return false;
  }
  setup_.stdout_pipes[index].reset();
  setup_.stderr_pipes[index].reset();
  ranks_[rank].process = process;
  ranks_[rank].link = RankLink(std::move(own));
  rank_of_[process] = rank;
  Narrate(absl::StrFormat("rank %u is process %d", rank, process));
  const absl::Status watched =
      loop_.Add(ranks_[rank].link.fd(), EPOLLIN, [this, rank](uint32_t) { OnLink(rank); });
  if (!watched.ok()) CannotStart(std::string(watched.message()));
  return watched.ok();
}

void Guard::CannotStart(std::string why) {
  ending_.CutShort(MonotonicNanos(), kExitLauncher, std::move(why));
}

void Guard::Send(Rank to, const WireMessage& message, const NodeFds* fds) {
  RankLink& link = ranks_[to].link;
  const bool was_blocked = link.blocked();
  link.Send(EncodeWire(message), fds);
  if (link.blocked() && !was_blocked) loop_.Change(link.fd(), EPOLLOUT);
}

void Guard::OnLink(Rank rank) {
  RankLink& link = ranks_[rank].link;
  if (link.blocked()) {
    link.Flush();
    if (!link.blocked()) loop_.Change(link.fd(), EPOLLIN);
  }
  if (!link.blocked()) Receive(rank, kTurn);
}

void Guard::Receive(Rank rank, int limit) {
  const bool open = ranks_[rank].link.Receive(limit, [&](pid_t sender, std::string_view datagram) {
    server_.Receive(rank, sender, datagram);
  });
  if (!open) loop_.Remove(ranks_[rank].link.fd());
}

void Guard::OnJoined(Rank rank, pid_t process) {
  Narrate(absl::StrFormat("rank %u joined the job (process %d)", rank, process));
  RankState& state = ranks_[rank];
  if (process == 0 || process == state.process) return;
  // A shell or a tool stands between; the process itself is watched.
  state.joined_pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (!state.joined_pidfd) return;
  loop_
      .Add(state.joined_pidfd.get(), EPOLLIN,
           [this, rank, process](uint32_t) { OnJoinedProcessEnded(rank, process); })
      .IgnoreError();  // The shell's own end tells then.
}

void Guard::OnLeft(Rank rank) { Narrate(absl::StrFormat("rank %u left the job", rank)); }

void Guard::OnAbort(Rank rank, int code, std::string_view message) {
  const int status = code >= 0 && code <= 255 ? code : 1;
  const std::string how = absl::StrFormat("aborted the job with status %d%s%s", code,
                                          message.empty() ? "" : ": ", std::string(message));
  ending_.Failed(MonotonicNanos(), status,
                 absl::StrCat(Name(rank, ranks_[rank].process), " ", how));
  server_.ReportDeath(rank, -1, how);
}

void Guard::OnJoinedProcessEnded(Rank rank, pid_t process) {
  RankState& state = ranks_[rank];
  loop_.Remove(state.joined_pidfd.get());
  state.joined_pidfd.reset();
  Receive(rank, kLastTurn);
  if (server_.standing(rank) != NodeServer::Standing::kJoined) return;
  constexpr char kHow[] = "ended without leaving the job";
  if (!ending_.begun()) unexplained_ = rank;
  ending_.Failed(MonotonicNanos(), 1, absl::StrCat(Name(rank, process), " ", kHow));
  server_.ReportDeath(rank, -1, kHow);
}

void Guard::OnReaped(pid_t process, int wait_status) {
  const auto entry = rank_of_.find(process);
  if (entry == rank_of_.end()) return;  // An orphan of a rank.
  const Rank rank = entry->second;
  rank_of_.erase(entry);
  OnRankEnded(rank, process, wait_status);
}

void Guard::OnRankEnded(Rank rank, pid_t process, int wait_status) {
  RankState& state = ranks_[rank];
  // What it said before it ended comes first.
  Receive(rank, kLastTurn);
  state.process = 0;
  if (state.joined_pidfd) loop_.Remove(state.joined_pidfd.get());
  state.joined_pidfd.reset();
  std::string how = DescribeEnd(wait_status);
  Narrate(absl::StrFormat("rank %u %s", rank, how));

  const auto standing = server_.standing(rank);
  const int64_t now = MonotonicNanos();
  if (const auto failure = failures_.Of(rank)) {
    const std::string why =
        absl::StrCat(Describe(*failure, options_), plan_.node ? " on " + plan_.host : "");
    how = absl::StrCat("could not start: ", why);
    ending_.Failed(now, ExitCode(wait_status), why);
  } else if (wait_status != 0) {
    const std::string line = absl::StrCat(Name(rank, process), " ", how, "; the job was ended");
    if (unexplained_ == rank) ending_.Explain(ExitCode(wait_status), line);
    ending_.RankFailed(now, wait_status, line);
  } else if (standing == NodeServer::Standing::kJoined) {
    how = "ended without leaving the job";
    ending_.Failed(now, 1,
                   absl::StrCat(Name(rank, process), " ", how, " (it exited with status 0)"));
  } else {
    server_.ReportEndedUnjoined(rank);
    return;
  }
  if (unexplained_ == rank) unexplained_.reset();
  server_.ReportDeath(rank, wait_status, how);
}

void Guard::OnLauncher(const Frame& frame) {
  switch (frame.type) {
    case Frame::Type::kCutShort:
      ending_.CutShort(MonotonicNanos(), frame.number, frame.text);
      break;
    case Frame::Type::kFailed:
      failure_reported_ = true;  // Another host's, which decides.
      ending_.Failed(MonotonicNanos(), frame.number, frame.text);
      break;
    case Frame::Type::kSignal:
      SignalRanks(frame.number);
      if (frame.number == SIGUSR1 || frame.number == SIGUSR2) break;
      ending_.Interrupted(MonotonicNanos(), frame.number);
      break;
    default:
      CallNode(frame, plan_.map.size(), server_);
  }
}

void Guard::OnLauncherGone() {
  // Nobody is left to tell: end everything at once.
  KillAll();
  _exit(kExitLauncher);
}

void Guard::SignalRanks(int signal) {
  Narrate(absl::StrFormat("sending %s to %d ranks", DescribeSignal(signal), rank_of_.size()));
  // The group: a shell passes nothing on to the program that it waits for.
  for (const auto& [process, rank] : rank_of_) kill(-process, signal);
}

void Guard::OnTimeout() {
  timeout_ = Deadline();
  RankList running;
  for (const Rank rank : own_) {
    if (ranks_[rank].process != 0) running.Add(rank);
  }
  ending_.CutShort(
      MonotonicNanos(), kExitTimeout,
      absl::StrFormat("the job did not end within %g s (--timeout): %s on %s still ran",
                      absl::ToDoubleSeconds(options_.timeout), running.Text(), plan_.host));
}

void Guard::Take(Ending::Step step) {
  // From here on an end says nothing but that we asked for it.
  if (step != Ending::Step::kNothing) unexplained_.reset();
  if (step == Ending::Step::kTerminate) {
    SignalRanks(SIGTERM);
    // A stopped one would not see it.
    SignalRanks(SIGCONT);
  } else if (step == Ending::Step::kKill) {
    Narrate(absl::StrFormat("killing what is left of %d ranks", rank_of_.size()));
    KillAll();
    rank_of_.clear();
  }
}

void Guard::KillAll() {
  const bool killed = KillDescendants(
      {}, [](pid_t, int) {}, Deadline::After(absl::Seconds(10)));
  if (!killed) {
    for (const pid_t process : Descendants({})) absl::StrAppend(&not_killed_, " ", process);
  }
}

void Guard::ReportFailure() {
  if (failure_reported_ || !ending_.decided()) return;
  failure_reported_ = true;
  if (!plan_.node) return;  // The verdict will say it, and nobody waits for it.
  lifeline_.Send({.type = Frame::Type::kFailed, .number = ending_.code(), .text = ending_.line()});
}

void Guard::Report() {
  std::string line = ending_.line();
  int code = ending_.code();
  if (!not_killed_.empty()) {
    absl::StrAppend(&line, line.empty() ? "" : "; ",
                    "these processes could not be killed:", not_killed_);
    if (code == 0) code = kExitLauncher;
  }
  lifeline_.Send({.type = Frame::Type::kVerdict, .number = code, .text = line});
  lifeline_.Drain(Deadline());
}

std::string Guard::Name(Rank rank, pid_t process) const {
  return absl::StrFormat("rank %u on %s (pid %d)", rank, plan_.host, process);
}

void Guard::Narrate(std::string text) {
  if (!options_.verbose) return;
  lifeline_.Send({.type = Frame::Type::kNarration, .text = std::move(text)});
}

}  // namespace

void RunGuard(GuardSetup setup) {
  Guard guard(std::move(setup));
  guard.Run();
  _exit(0);
}

}  // namespace weft
