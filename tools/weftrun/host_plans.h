// From the user's options to what each host has to do. Reads this process's
// environment and directory.
#ifndef WEFT_TOOLS_WEFTRUN_HOST_PLANS_H_
#define WEFT_TOOLS_WEFTRUN_HOST_PLANS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/weftrun/node_plan.h"
#include "tools/weftrun/options.h"

namespace weft {

// By node; one where all ranks run on one host. The plans of other hosts have the
// environment's WEFT_* among the variables, and this process's directory.
std::vector<NodePlan> PlanHosts(const Options& options);

std::vector<std::string> HostNames(const std::vector<NodePlan>& plans);

// Which of them is this machine, where no agent is needed; none may be.
std::optional<uint32_t> LocalHost(const std::vector<NodePlan>& plans);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_HOST_PLANS_H_
