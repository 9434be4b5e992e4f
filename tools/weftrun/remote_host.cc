#include "tools/weftrun/remote_host.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/weftrun/channel_times.h"
#include "tools/weftrun/exit_status.h"
#include "tools/weftrun/shell_words.h"

namespace weft {
namespace {

constexpr int64_t kAgentEndNanos = 1'000'000'000;
// What our own shell ends with where the agent is not there.
constexpr int kNoAgent = 125;

std::string OwnPath() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "weftrun";
}

// What the other host's shell is to run, whichever shell that is. It says on standard error
// itself when there is no such program.
std::string KeeperCommand(const std::string& remote_weftrun) {
  std::string script;
  if (remote_weftrun.empty()) {
    const std::string own = ShellQuoted(OwnPath());
    script = absl::StrCat("test -x ", own, " && exec ", own, " --keeper; exec weftrun --keeper");
  } else {
    script = absl::StrCat("exec ", ShellQuoted(remote_weftrun), " --keeper");
  }
  return absl::StrCat("sh -c ", ShellQuoted(script));
}

}  // namespace

absl::Status RemoteHost::Start(EventLoop& loop, const NodePlan& plan,
                               const std::string& remote_weftrun, const sigset_t& mask) {
  command_ = KeeperCommand(remote_weftrun);
  const std::string encoded = EncodeNodePlan(plan);
  if (encoded.size() > kMaxPlanBytes) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the arguments and variables for host %s have %d bytes; at most %d can be sent", host_,
        encoded.size(), kMaxPlanBytes));
  }
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot make a pipe: ", strerror(errno)));
  }
  UniqueFd their_in(to[0]), own_out(to[1]);
  if (pipe2(from, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot make a pipe: ", strerror(errno)));
  }
  UniqueFd own_in(from[0]), their_out(from[1]);

  const std::string words = absl::StrFormat(
      "set -- %s \"$@\"; command -v \"$1\" > /dev/null || exit %d; exec \"$@\"", agent_, kNoAgent);
  const pid_t launcher = getpid();
  process_ = fork();
  if (process_ < 0) {
    process_ = 0;
    return absl::ResourceExhaustedError(absl::StrCat("cannot fork: ", strerror(errno),
                                                     "; raise the limit on processes (ulimit -u)"));
  }
  if (process_ == 0) {
    // A Ctrl-C at the terminal is for the launcher alone, and no agent may ask there.
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) _exit(kExitLauncher);
    dup2(their_in.get(), STDIN_FILENO);
    dup2(their_out.get(), STDOUT_FILENO);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    execl("/bin/sh", "sh", "-c", words.c_str(), "sh", host_.c_str(), command_.c_str(), nullptr);
    _exit(kExitNotFound);
  }
  started_ = beat_at_ = MonotonicNanos();
  channel_.emplace(std::move(own_in), std::move(own_out));
  absl::Status status = channel_->Start(
      loop, [this](const Frame& frame) { OnFrame(frame); },
      [this](const absl::Status& why) { OnChannelEnded(why); });
  channel_->Send({.type = Frame::Type::kPlan, .data = encoded});
  return status;
}

void RemoteHost::Send(const Frame& frame) {
  if (channel_) channel_->Send(frame);
}

void RemoteHost::Release() {
  released_ = true;
  channel_->Close();
  agent_patience_ = Deadline::AtMonotonicNanos(MonotonicNanos() + kAgentEndNanos);
}

void RemoteHost::GiveUpStart() {
  if (!hello_) End("weftrun had not started there yet");
}

void RemoteHost::OnFrame(const Frame& frame) {
  if (frame.type == Frame::Type::kHello) hello_ = true;
  if (frame.type != Frame::Type::kHeartbeat) events_.on_frame(frame);
}

void RemoteHost::OnChannelEnded(const absl::Status& why) {
  if (!why.ok()) {
    channel_error_ =
        hello_ ? absl::StrFormat("weftrun on %s sent %s", host_, std::string(why.message()))
               : absl::StrFormat(
                     "%s sent %s; what its shell prints at a start (.bashrc and the "
                     "like) must go to terminals only",
                     host_, std::string(why.message()));
  }
  // Its status says why; if it does not end by itself, it is made to.
  agent_patience_ = Deadline::AtMonotonicNanos(MonotonicNanos() + kAgentEndNanos);
  Reap();
}

void RemoteHost::Reap() {
  int status;
  if (process_ == 0 || waitpid(process_, &status, WNOHANG) != process_) return;
  process_ = 0;
  OnAgentEnded(status);
}

void RemoteHost::OnAgentEnded(int wait_status) {
  // What came before it ended comes first: the verdict, perhaps.
  while (channel_->Receive()) {
  }
  if (!channel_error_.empty()) {
    End(channel_error_);
  } else if (!hello_) {
    End(NoKeeper(wait_status));
  } else {
    End(absl::StrFormat("the connection to it has ended (its agent %s)", DescribeEnd(wait_status)));
  }
}

std::string RemoteHost::Trial() const {
  return absl::StrCat("see whether this works: ", agent_, " ", host_, " true");
}

std::string RemoteHost::NoKeeper(int wait_status) const {
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kNoAgent) {
    return absl::StrFormat(
        "the agent that runs weftrun on %s is not there: %s; install it, or name another with "
        "--agent",
        host_, agent_);
  }
  if (WIFEXITED(wait_status) &&
      (WEXITSTATUS(wait_status) == kExitNotFound || WEXITSTATUS(wait_status) == kExitCannotRun)) {
    return absl::StrFormat(
        "weftrun cannot be run on %s: it was looked for with %s; install it there, or say where it "
        "is with --remote-weftrun FILE or WEFT_REMOTE_WEFTRUN",
        host_, command_);
  }
  return absl::StrFormat("weftrun could not be started on %s: the agent %s; %s", host_,
                         DescribeEnd(wait_status), Trial());
}

Deadline RemoteHost::next() const {
  if (ended_) return Deadline();
  int64_t at = agent_patience_.monotonic_nanos();
  if (channel_ && channel_->open()) {
    const int64_t patience =
        hello_ ? channel_->heard_at() + kLauncherPatienceNanos : started_ + kStartPatienceNanos;
    at = std::min({at, beat_at_, patience});
  }
  return Deadline::AtMonotonicNanos(at);
}

void RemoteHost::Tick() {
  if (ended_ || !channel_) return;
  const int64_t now = MonotonicNanos();
  if (agent_patience_.Expired()) {
    End(channel_error_.empty() ? "the connection to it has ended" : channel_error_);
    return;
  }
  if (!channel_->open()) return;
  if (now >= beat_at_) {
    beat_at_ = now + kHeartbeatNanos;
    // What is stuck does not get better by more of it.
    if (channel_->pending() == 0) channel_->Send({.type = Frame::Type::kHeartbeat});
  }
  // It may be we who were not running.
  if (hello_ && now >= channel_->heard_at() + kLauncherPatienceNanos && !channel_->Receive()) {
    End(absl::StrFormat("nothing has been heard from it for %d s",
                        kLauncherPatienceNanos / 1'000'000'000));
  } else if (!hello_ && now >= started_ + kStartPatienceNanos) {
    End(absl::StrFormat("weftrun did not start on %s within %d s; %s", host_,
                        kStartPatienceNanos / 1'000'000'000, Trial()));
  }
}

void RemoteHost::End(std::string why) {
  if (ended_) return;
  ended_ = true;
  channel_->Close();
  // It leads a group of its own.
  if (process_ != 0) {
    kill(-process_, SIGKILL);
    kill(process_, SIGKILL);  // It may not have made it yet.
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  events_.on_ended(why, hello_);
}

}  // namespace weft
