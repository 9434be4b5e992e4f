// A guard as its parent sees it, be that the launcher or a keeper: makes the
// ranks' output pipes, forks the guard, and holds the life-line. Used by one
// thread, the main one: the guard's ranks die with who forked them.
#ifndef WEFT_TOOLS_WEFTRUN_GUARD_PROCESS_H_
#define WEFT_TOOLS_WEFTRUN_GUARD_PROCESS_H_

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/unique_fd.h"
#include "tools/weftrun/event_loop.h"
#include "tools/weftrun/frame_stream.h"
#include "tools/weftrun/node_plan.h"
#include "tools/weftrun/rank_pipes.h"

namespace weft {

class GuardProcess {
 public:
  // What its parent does with it. Called from the loop.
  struct Events {
    std::function<void(const Frame& frame)> on_frame;
    // Of a rank, to its standard stream 1 or 2.
    std::function<void(int stream, Rank rank, std::string_view text)> on_output;
  };

  // Raises this process's limit on open files to what the pipes of `ranks` ranks, and `others`
  // descriptors, need. Once, before Start; `loop` must outlive this.
  absl::Status Prepare(size_t ranks, size_t others);
  // Forks the guard, which calls `in_guard` first, to close what is not its own. `plan` must
  // outlive this. The ranks start with `mask` and the limit from before Prepare.
  absl::Status Start(EventLoop& loop, const NodePlan& plan, const sigset_t& mask,
                     bool withhold_stdin, const std::function<void()>& in_guard, Events events);

  // 0: not started, or reaped.
  pid_t pid() const { return pid_; }
  void Send(const Frame& frame);
  // Reads the ranks' stream 1 or 2, or does not.
  void Listen(int stream, bool listen);

  // When a child of this process may have ended: the guard's wait status, once, if it was it.
  // All that it sent has been handed on then.
  std::optional<int> Reap();
  // After that, when no process of the job is left: hands on the rest of the output.
  void FinishOutput();

 private:
  absl::Status MakePipes(const std::vector<Rank>& ranks);

  rlimit open_files_ = {};
  pid_t pid_ = 0;
  std::optional<FrameStream> lifeline_;
  // By stream.
  std::vector<UniqueFd> reads_[2], writes_[2];
  std::optional<RankPipes> pipes_[2];
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_GUARD_PROCESS_H_
