#include "tools/weftrun/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/deadline.h"
#include "runtime/base/unique_fd.h"
#include "tools/weftrun/blocked_signals.h"
#include "tools/weftrun/channel_times.h"
#include "tools/weftrun/event_loop.h"
#include "tools/weftrun/exit_status.h"
#include "tools/weftrun/frame_stream.h"
#include "tools/weftrun/guard_process.h"
#include "tools/weftrun/hosts.h"
#include "tools/weftrun/input_pipe.h"
#include "tools/weftrun/node_plan.h"
#include "tools/weftrun/process_tree.h"

namespace weft {
namespace {

class Keeper {
 public:
  // `in` and `out`: to the launcher.
  Keeper(UniqueFd in, UniqueFd out) : channel_(std::move(in), std::move(out)) {}

  int Run();

 private:
  absl::Status SetUp();
  void OnLauncher(const Frame& frame);
  absl::Status StartGuard(const Frame& frame);
  void OnGuard(const Frame& frame);
  void OnOutput(int stream, Rank rank, std::string_view text);
  void OnSignals();
  void OnGuardEnded(int wait_status);
  // The launcher has gone: ends what is left.
  [[noreturn]] void EndAll();
  void Verdict(const Frame& verdict);
  void CannotStart(std::string why);

  EventLoop loop_;
  FrameStream channel_;
  BlockedSignals signals_;
  std::optional<NodePlan> plan_;
  GuardProcess guard_;
  InputPipe input_;
  std::optional<Frame> verdict_;
  bool verdict_sent_ = false;
  uint64_t output_under_way_ = 0;
  bool listening_ = true;
  int64_t beat_at_ = 0;
};

int Keeper::Run() {
  if (absl::Status status = SetUp(); !status.ok()) {
    CannotStart(std::string(status.message()));
  }
  while (true) {
    loop_.RunOnce(
        Deadline::AtMonotonicNanos(std::min(beat_at_, channel_.heard_at() + kKeeperPatienceNanos)));
    const int64_t now = MonotonicNanos();
    // It may be we who were not running.
    if (now >= channel_.heard_at() + kKeeperPatienceNanos && !channel_.Receive()) EndAll();
    if (now < beat_at_) continue;
    beat_at_ = now + kHeartbeatNanos;
    if (channel_.pending() == 0) channel_.Send({.type = Frame::Type::kHeartbeat});
  }
}

absl::Status Keeper::SetUp() {
  prctl(PR_SET_NAME, "weftrun-keeper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  setsid();
  // Who ends it, as sshd does where a connection breaks, ends the job here.
  absl::Status status = signals_.Block({SIGINT, SIGTERM, SIGHUP, SIGQUIT}, SIGTSTP);
  if (!status.ok()) return status;
  status.Update(loop_.Add(signals_.fd(), EPOLLIN, [this](uint32_t) { OnSignals(); }));
  status.Update(channel_.Start(
      loop_, [this](const Frame& frame) { OnLauncher(frame); },
      [this](const absl::Status&) { EndAll(); }));
  channel_.Send({.type = Frame::Type::kHello, .number = getpid(), .text = OwnHostName()});
  return status;
}

void Keeper::OnLauncher(const Frame& frame) {
  switch (frame.type) {
    case Frame::Type::kHeartbeat:
      break;
    case Frame::Type::kPlan:
      if (absl::Status status = StartGuard(frame); !status.ok()) {
        CannotStart(
            absl::StrCat(plan_ ? "on " + plan_->host + ": " : "", std::string(status.message())));
      }
      break;
    case Frame::Type::kOutputTaken:
      output_under_way_ -= std::min(output_under_way_, frame.first);
      if (output_under_way_ < kOutputWindow && !listening_) {
        listening_ = true;
        for (const int stream : {1, 2}) guard_.Listen(stream, true);
      }
      break;
    case Frame::Type::kInput:
      input_.Write(frame.data);
      break;
    default:
      guard_.Send(frame);
  }
}

absl::Status Keeper::StartGuard(const Frame& frame) {
  if (plan_) return absl::FailedPreconditionError("a second plan");
  auto plan = DecodeNodePlan(frame.data);
  if (!plan.ok()) return plan.status();
  plan_ = *std::move(plan);
  const std::vector<Rank> ranks = plan_->Ranks();
  absl::Status status = guard_.Prepare(ranks.size(), /*others=*/0);
  const bool reads_input =
      plan_->options.stdin_rank && std::ranges::binary_search(ranks, *plan_->options.stdin_rank);
  if (status.ok() && reads_input) {
    status = input_.Open(loop_, [this](uint64_t taken) {
      channel_.Send({.type = Frame::Type::kInputTaken, .first = taken});
    });
  }
  if (!status.ok()) return status;
  return guard_.Start(
      loop_, *plan_, signals_.mask_before(), /*withhold_stdin=*/false,
      [this] {
        channel_.CloseInChild();
        signals_.CloseInChild();
        input_.Close();
      },
      {.on_frame = [this](const Frame& f) { OnGuard(f); },
       .on_output = [this](int stream, Rank rank,
                           std::string_view text) { OnOutput(stream, rank, text); }});
}

void Keeper::OnGuard(const Frame& frame) {
  if (frame.type == Frame::Type::kVerdict) {
    verdict_ = frame;  // Once all output is on its way.
  } else {
    channel_.Send(frame);
  }
}

void Keeper::OnOutput(int stream, Rank rank, std::string_view text) {
  output_under_way_ += text.size();
  channel_.Send({.type = Frame::Type::kOutput,
                 .rank = rank,
                 .first = static_cast<uint64_t>(stream),
                 .data = std::string(text)});
  if (output_under_way_ >= kOutputWindow && listening_) {
    listening_ = false;
    for (const int s : {1, 2}) guard_.Listen(s, false);
  }
}

void Keeper::OnSignals() {
  while (const int signal = signals_.Next()) {
    if (signal != SIGCHLD) EndAll();
    if (const auto status = guard_.Reap()) OnGuardEnded(*status);
  }
}

void Keeper::OnGuardEnded(int wait_status) {
  std::string left;
  if (!verdict_) {
    // Its ranks die with it; their children are ours now.
    const bool killed = KillDescendants(
        {}, [](pid_t, int) {}, Deadline::After(absl::Seconds(10)));
    left = absl::StrCat("weftrun's guard on ", plan_->host, " ", DescribeEnd(wait_status),
                        killed ? "" : "; some processes could not be killed",
                        plan_->options.survivors_go_on ? "" : "; the job was ended");
  }
  guard_.FinishOutput();
  if (verdict_) {
    Verdict(*verdict_);
  } else {
    Verdict({.type = Frame::Type::kVerdict, .number = kExitLauncher, .text = left});
  }
}

void Keeper::Verdict(const Frame& verdict) {
  if (verdict_sent_) return;
  verdict_sent_ = true;
  // The launcher closes the channel when it has it.
  channel_.Send(verdict);
}

void Keeper::CannotStart(std::string why) {
  Verdict({.type = Frame::Type::kVerdict, .number = kExitLauncher, .text = std::move(why)});
}

void Keeper::EndAll() {
  KillDescendants(
      {}, [](pid_t, int) {}, Deadline::After(absl::Seconds(10)));
  _exit(verdict_sent_ ? 0 : kExitLauncher);
}

}  // namespace

int RunKeeper() {
  // Descriptors of our own, so that no child takes the channel for its standard streams.
  UniqueFd in(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  UniqueFd out(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!in || !out || !null) {
    fprintf(stderr, "weftrun: --keeper is how weftrun starts itself on other hosts\n");
    return kExitLauncher;
  }
  dup2(null.get(), STDIN_FILENO);
  dup2(null.get(), STDOUT_FILENO);
  return Keeper(std::move(in), std::move(out)).Run();
}

}  // namespace weft
