// The guard: the process between the launcher, or a keeper on another host, and
// the ranks of one host. It forks the ranks, serves their bootstrap, sees them
// end, and decides how they end. It leads a session of its own, which the ranks
// share, and is a subreaper, so that every process of the job stays its
// descendant. When its parent dies in any way it kills them all; when it dies
// itself, PR_SET_PDEATHSIG kills the ranks, and the parent, a subreaper too, the
// rest.
#ifndef WEFT_TOOLS_WEFTRUN_GUARD_H_
#define WEFT_TOOLS_WEFTRUN_GUARD_H_

#include <signal.h>
#include <sys/resource.h>

#include <vector>

#include "runtime/base/unique_fd.h"
#include "tools/weftrun/node_plan.h"

namespace weft {

struct GuardSetup {
  const NodePlan* plan;
  sigset_t signal_mask;  // The one that weftrun was started with,
  rlimit open_files;     // and its limit on open files.
  UniqueFd lifeline;
  // The ranks' ends of their output pipes, in the order of NodePlan::Ranks.
  std::vector<UniqueFd> stdout_pipes;
  std::vector<UniqueFd> stderr_pipes;
  // Nobody may read weftrun's own standard input.
  bool withhold_stdin;
};

// The guard's life, in the process that was forked for it. Reports a verdict
// over the life-line unless its parent died.
[[noreturn]] void RunGuard(GuardSetup setup);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_GUARD_H_
