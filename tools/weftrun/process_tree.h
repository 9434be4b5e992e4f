// The calling process' descendants, found in /proc. The caller is a subreaper
// (PR_SET_CHILD_SUBREAPER), so that a process whose parent dies stays a
// descendant, whatever session or process group it made for itself.
#ifndef WEFT_TOOLS_WEFTRUN_PROCESS_TREE_H_
#define WEFT_TOOLS_WEFTRUN_PROCESS_TREE_H_

#include <sys/types.h>

#include <functional>
#include <vector>

#include "runtime/base/deadline.h"

namespace weft {

// Called with each child that was reaped.
using OnReaped = std::function<void(pid_t process, int wait_status)>;

// Reaps the children that have ended. False when there are no children at all,
// and so no descendants.
bool ReapChildren(const OnReaped& on_reaped);

// Descendants of this process, without those below `spared`.
std::vector<pid_t> Descendants(const std::vector<pid_t>& spared);

// Sends SIGKILL to all descendants, again and again, and reaps them, until none
// is left but the spared. False if there were some still at the deadline (a
// process that waits for a device, or that we may not signal).
bool KillDescendants(const std::vector<pid_t>& spared, const OnReaped& on_reaped,
                     Deadline deadline);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_PROCESS_TREE_H_
