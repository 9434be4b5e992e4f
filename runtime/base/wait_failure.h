// What to tell the caller of a wait that another rank's end has made vain: which
// rank, and how it ended. Stateless; any thread may call.
#ifndef WEFT_RUNTIME_BASE_WAIT_FAILURE_H_
#define WEFT_RUNTIME_BASE_WAIT_FAILURE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/base/control_layout.h"
#include "runtime/base/node_view.h"

namespace weft {

// Which rank died first, of those whose death the program has not accepted. One load while
// none is dead.
std::optional<Rank> FirstDead(const NodeView& node);
// Which of ranks 0 .. size - 1 died or left first: the others may have done so because of it.
std::optional<Rank> FirstLost(const Membership& membership, Rank size);

// "killed by signal 9 (Killed)", "exited with status 3", or that it is not known.
std::string DescribeWaitStatus(int wait_status);

// kUnavailable: "<what>: rank 3 died: killed by signal 9 (Killed)", or that it left.
absl::Status LostRankError(const Membership& membership, Rank rank, std::string_view what);

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_WAIT_FAILURE_H_
