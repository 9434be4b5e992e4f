#include "tools/weftrun/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/authority/rank_list.h"
#include "tools/weftrun/exit_status.h"
#include "tools/weftrun/guard_state.h"
#include "tools/weftrun/process_tree.h"

namespace weft {

JobAuthority& Guard::Authority() {
  if (plan_.node) return uplink_;
  return job_.emplace(plan_.map.size(), plan_.map.nodes(), /*memories=*/1, server_,
                      options_.survivors_go_on);
}

void Guard::Run() {
  if (SetUp()) StartRanks();
  while (!rank_of_.empty()) RunOnce(Deadline());
  // Whatever the ranks have left behind.
  KillAll();
  Report();
}

void Guard::RunOnce(Deadline deadline) {
  loop_.RunOnce(std::min({deadline, ending_.next(), timeout_, job_ ? job_->next() : Deadline()}));
  if (job_) job_->Tick(MonotonicNanos());
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

void Guard::CannotStart(std::string why) {
  ending_.CutShort(MonotonicNanos(), kExitLauncher, std::move(why));
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
  lifeline_.Send(
      {.type = Frame::Type::kVerdict, .number = code, .first = ended_well_, .text = line});
  lifeline_.Drain(Deadline());
}

std::string Guard::Name(Rank rank, pid_t process) const {
  return absl::StrFormat("rank %u on %s (pid %d)", rank, plan_.host, process);
}

void Guard::Narrate(std::string text) {
  if (!options_.verbose) return;
  lifeline_.Send({.type = Frame::Type::kNarration, .text = std::move(text)});
}

void RunGuard(GuardSetup setup) {
  Guard guard(std::move(setup));
  guard.Run();
  _exit(0);
}

}  // namespace weft
