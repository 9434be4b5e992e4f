#include "tools/weftrun/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

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
#include "tools/weftrun/event_loop.h"
#include "tools/weftrun/exit_status.h"
#include "tools/weftrun/guard.h"
#include "tools/weftrun/lifeline.h"
#include "tools/weftrun/process_tree.h"
#include "tools/weftrun/rank_output.h"

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
  explicit Launcher(const Options& options) : options_(options) {}

  int Run();

 private:
  absl::Status Prepare();
  absl::Status RaiseOpenFiles();
  absl::Status MakePipes();
  void BlockSignals();
  absl::Status StartGuard();
  absl::Status Watch();
  void OnSignals();
  void OnLifeline();
  void OnGuardEnded(int wait_status);
  void CheckOutput();
  int Finish();

  void Say(const std::string& line);
  void Narrate(const std::string& line);

  const Options& options_;
  const int64_t started_ = MonotonicNanos();
  EventLoop loop_;
  sigset_t signal_mask_;
  rlimit open_files_;
  UniqueFd signals_;
  UniqueFd lifeline_;
  std::vector<UniqueFd> stdout_reads_, stdout_writes_, stderr_reads_, stderr_writes_;
  std::optional<RankOutput> stdout_, stderr_;
  // Children that this process had before it became weftrun.
  std::vector<pid_t> foreign_;
  pid_t guard_ = 0;
  std::optional<LifelineMessage> verdict_;
  bool output_lost_ = false;
  int user_signals_ = 0;  // How many have asked to end.
};

int Launcher::Run() {
  absl::Status status = Prepare();
  if (status.ok()) status = StartGuard();
  if (status.ok()) status = Watch();
  if (!status.ok()) {
    // The guard, if there is one already, sees the life-line close.
    std::string line = absl::StrCat("weftrun: ", status.message(), "\n");
    StreamWriter writer(STDERR_FILENO);
    writer.Append(line);
    writer.Flush();
    return kExitLauncher;
  }
  while (guard_ != 0) {
    loop_.RunOnce(Deadline());
    CheckOutput();
  }
  return Finish();
}

absl::Status Launcher::Prepare() {
  if (absl::Status status = RaiseOpenFiles(); !status.ok()) return status;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  siginfo_t any;
  if (waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) == 0) foreign_ = Descendants({});
  BlockSignals();
  return MakePipes();
}

absl::Status Launcher::RaiseOpenFiles() {
  // Both ends of two pipes a rank, and some of our own.
  const rlim_t need = options_.ranks * rlim_t{4} + 64;
  if (getrlimit(RLIMIT_NOFILE, &open_files_) != 0) return absl::InternalError(strerror(errno));
  if (open_files_.rlim_max < need) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%d ranks need %d open files, but the limit (ulimit -Hn) is %d: raise it, or start fewer "
        "ranks",
        options_.ranks, need, open_files_.rlim_max));
  }
  rlimit raised = open_files_;
  raised.rlim_cur = raised.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);
  return absl::OkStatus();
}

absl::Status Launcher::MakePipes() {
  for (Rank rank = 0; rank < options_.ranks; ++rank) {
    for (auto [reads, writes] :
         {std::pair(&stdout_reads_, &stdout_writes_), std::pair(&stderr_reads_, &stderr_writes_)}) {
      int ends[2];
      if (pipe2(ends, O_CLOEXEC) != 0) {
        return absl::ResourceExhaustedError(
            absl::StrFormat("cannot make a pipe for rank %u: %s", rank, strerror(errno)));
      }
      reads->emplace_back(ends[0]);
      writes->emplace_back(ends[1]);
      // Each end has its own flags: the rank's stays blocking.
      fcntl(ends[0], F_SETFL, O_NONBLOCK);
    }
  }
  return absl::OkStatus();
}

void Launcher::BlockSignals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    // One that the caller had us ignore (nohup, a shell's &) stays ignored.
    struct sigaction before;
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaddset(&handled, signal);
  }
  sigaddset(&handled, SIGCHLD);
  sigset_t blocked = handled;
  // Writing to a closed pipe is an error and no death; writing to a terminal
  // from the background does not stop us.
  sigaddset(&blocked, SIGPIPE);
  sigaddset(&blocked, SIGTTOU);
  sigprocmask(SIG_BLOCK, &blocked, &signal_mask_);
  signals_.reset(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
}

absl::Status Launcher::StartGuard() {
  auto [own, theirs] = MakeLifeline();
  if (!own || !signals_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot open a descriptor: ", strerror(errno)));
  }
  lifeline_ = std::move(own);
  // A rank that read the terminal from the background would take what is typed
  // for the shell: it is in another session, so nothing would stop it.
  const pid_t foreground = tcgetpgrp(STDIN_FILENO);
  const bool withhold_stdin = foreground >= 0 && foreground != getpgrp();

  guard_ = fork();
  if (guard_ < 0) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot fork: ", strerror(errno),
                                                     "; raise the limit on processes (ulimit -u)"));
  }
  if (guard_ == 0) {
    lifeline_.reset();
    signals_.reset();
    stdout_reads_.clear();
    stderr_reads_.clear();
    RunGuard({.options = &options_,
              .signal_mask = signal_mask_,
              .open_files = open_files_,
              .lifeline = std::move(theirs),
              .stdout_pipes = std::move(stdout_writes_),
              .stderr_pipes = std::move(stderr_writes_),
              .withhold_stdin = withhold_stdin});
  }
  stdout_writes_.clear();
  stderr_writes_.clear();
  // Whoever writes to our standard input sees when the rank has closed it.
  const UniqueFd empty(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (empty) dup2(empty.get(), STDIN_FILENO);
  return absl::OkStatus();
}

absl::Status Launcher::Watch() {
  stdout_.emplace(std::move(stdout_reads_), options_.tag_output, STDOUT_FILENO);
  stderr_.emplace(std::move(stderr_reads_), options_.tag_output, STDERR_FILENO);
  absl::Status status = stdout_->Start(loop_);
  status.Update(stderr_->Start(loop_));
  status.Update(loop_.Add(lifeline_.get(), EPOLLIN, [this](uint32_t) { OnLifeline(); }));
  status.Update(loop_.Add(signals_.get(), EPOLLIN, [this](uint32_t) { OnSignals(); }));
  Narrate(absl::StrFormat("process %d starts %d ranks under guard %d", getpid(), options_.ranks,
                          guard_));
  return status;
}

void Launcher::OnSignals() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      int status;
      if (guard_ > 0 && waitpid(guard_, &status, WNOHANG) == guard_) OnGuardEnded(status);
      continue;
    }
    if (signal != SIGUSR1 && signal != SIGUSR2) ++user_signals_;
    Narrate(absl::StrCat("got ", DescribeSignal(signal)));
    // From the third on a guard that does not answer is not waited for.
    if (user_signals_ > 2 || guard_ == 0) {
      KillDescendants(
          foreign_, [](pid_t, int) {}, Deadline::After(absl::Seconds(10)));
      _exit(kExitSignal + signal);
    }
    SendLifeline(lifeline_.get(), {.type = LifelineMessage::Type::kSignal, .number = signal},
                 /*wait=*/false);
  }
}

void Launcher::OnLifeline() {
  while (true) {
    LifelineReceived received = ReceiveLifeline(lifeline_.get());
    if (received.closed) {
      loop_.Remove(lifeline_.get());
      return;
    }
    if (!received.message) return;
    if (received.message->type == LifelineMessage::Type::kNarration) {
      Narrate(received.message->text);
    } else {
      verdict_ = std::move(received.message);
    }
  }
}

void Launcher::OnGuardEnded(int wait_status) {
  guard_ = 0;
  OnLifeline();
  if (verdict_) return;
  // Its ranks die with it; their children are ours now.
  const bool killed = KillDescendants(
      foreign_, [](pid_t, int) {}, Deadline::After(absl::Seconds(10)));
  verdict_ = {.type = LifelineMessage::Type::kVerdict,
              .number = kExitLauncher,
              .text = absl::StrCat(
                  "weftrun's guard ", DescribeEnd(wait_status),
                  killed ? "; the job was ended" : "; some of its processes could not be killed")};
}

void Launcher::CheckOutput() {
  const int error = stdout_->writer().error();
  if (error == 0 || output_lost_) return;
  output_lost_ = true;
  // Whoever read it has gone: that is usual in a pipeline, and no news.
  LifelineMessage message = {.type = LifelineMessage::Type::kOutputLost,
                             .number = kExitSignal + SIGPIPE};
  if (error != EPIPE) {
    message.number = kExitLauncher;
    message.text = absl::StrCat("cannot write standard output: ", strerror(error));
  }
  SendLifeline(lifeline_.get(), message, /*wait=*/false);
}

int Launcher::Finish() {
  stdout_->Finish();
  stderr_->Finish();
  if (!verdict_->text.empty()) Say(verdict_->text);
  Narrate(absl::StrFormat("exits with status %d", verdict_->number));
  // Whoever reads may take their time, unless the user wants to be gone: then
  // only as long as something moves.
  const bool hurry = user_signals_ > 0 || verdict_->number == kExitTimeout;
  while (size_t pending = stdout_->writer().pending() + stderr_->writer().pending()) {
    loop_.RunOnce(hurry ? Deadline::After(absl::Seconds(1)) : Deadline());
    if (hurry && stdout_->writer().pending() + stderr_->writer().pending() == pending) break;
  }
  // Lost at the very end, when there was no job to end any more.
  const int error = stdout_->writer().error();
  if (verdict_->number == 0 && error == EPIPE) return kExitSignal + SIGPIPE;
  if (verdict_->number == 0 && error != 0) {
    Say(absl::StrCat("cannot write standard output: ", strerror(error)));
    return kExitLauncher;
  }
  return verdict_->number;
}

void Launcher::Say(const std::string& line) {
  stderr_->writer().Append(absl::StrCat("weftrun: ", line, "\n"));
  stderr_->Flush();
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
