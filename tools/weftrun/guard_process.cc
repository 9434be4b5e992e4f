#include "tools/weftrun/guard_process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/weftrun/guard.h"

namespace weft {

absl::Status GuardProcess::Prepare(size_t ranks, size_t others) {
  // Both ends of two pipes a rank, and some of our own.
  const rlim_t need = ranks * rlim_t{4} + others + 64;
  if (getrlimit(RLIMIT_NOFILE, &open_files_) != 0) return absl::InternalError(strerror(errno));
  if (open_files_.rlim_max < need) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%d ranks need %d open files, but the limit (ulimit -Hn) is %d: raise it, or start fewer "
        "ranks",
        ranks, need, open_files_.rlim_max));
  }
  rlimit raised = open_files_;
  raised.rlim_cur = raised.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);
  return absl::OkStatus();
}

absl::Status GuardProcess::MakePipes(const std::vector<Rank>& ranks) {
  for (const Rank rank : ranks) {
    for (int stream = 0; stream < 2; ++stream) {
      int ends[2];
      if (pipe2(ends, O_CLOEXEC) != 0) {
        return absl::ResourceExhaustedError(
            absl::StrFormat("cannot make a pipe for rank %u: %s", rank, strerror(errno)));
      }
      reads_[stream].emplace_back(ends[0]);
      writes_[stream].emplace_back(ends[1]);
      // Each end has its own flags: the rank's stays blocking.
      fcntl(ends[0], F_SETFL, O_NONBLOCK);
    }
  }
  return absl::OkStatus();
}

absl::Status GuardProcess::Start(EventLoop& loop, const NodePlan& plan, const sigset_t& mask,
                                 bool withhold_stdin, const std::function<void()>& in_guard,
                                 Events events) {
  const std::vector<Rank> ranks = plan.Ranks();
  if (absl::Status made = MakePipes(ranks); !made.ok()) return made;
  auto [own, theirs] = MakeLifeline();
  if (!own) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot open a descriptor: ", strerror(errno)));
  }
  pid_ = fork();
  if (pid_ < 0) {
    pid_ = 0;
    return absl::ResourceExhaustedError(absl::StrCat("cannot fork: ", strerror(errno),
                                                     "; raise the limit on processes (ulimit -u)"));
  }
  if (pid_ == 0) {
    own.reset();
    reads_[0].clear();
    reads_[1].clear();
    in_guard();
    RunGuard({.plan = &plan,
              .signal_mask = mask,
              .open_files = open_files_,
              .lifeline = std::move(theirs),
              .stdout_pipes = std::move(writes_[0]),
              .stderr_pipes = std::move(writes_[1]),
              .withhold_stdin = withhold_stdin});
  }
  lifeline_.emplace(std::move(own));
  // That it has gone, its end tells.
  absl::Status status =
      lifeline_->Start(loop, std::move(events.on_frame), [](const absl::Status&) {});
  for (int stream = 0; stream < 2; ++stream) {
    writes_[stream].clear();
    pipes_[stream].emplace(
        ranks, std::exchange(reads_[stream], {}),
        /*whole_lines=*/plan.map.size() > 1,
        [stream, on_output = events.on_output](Rank rank, std::string_view text) {
          on_output(stream + 1, rank, text);
        });
    status.Update(pipes_[stream]->Start(loop));
  }
  // Whoever writes to our standard input sees when the rank has closed it.
  const UniqueFd empty(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (empty) dup2(empty.get(), STDIN_FILENO);
  return status;
}

void GuardProcess::Send(const Frame& frame) {
  if (lifeline_) lifeline_->Send(frame);
}

void GuardProcess::Listen(int stream, bool listen) {
  if (pipes_[stream - 1]) pipes_[stream - 1]->Listen(listen);
}

std::optional<int> GuardProcess::Reap() {
  int status;
  if (pid_ == 0 || waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = 0;
  while (lifeline_->Receive()) {
  }
  return status;
}

void GuardProcess::FinishOutput() {
  for (auto& pipes : pipes_) {
    if (pipes) pipes->Finish();
  }
}

}  // namespace weft
