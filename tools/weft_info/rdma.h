// The RDMA devices of the machine: their ports, addresses and limits, and why Weft can or
// cannot use each.
#ifndef WEFT_TOOLS_WEFT_INFO_RDMA_H_
#define WEFT_TOOLS_WEFT_INFO_RDMA_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/transport/verbs/port.h"
#include "tools/weft_info/report.h"

namespace weft {

// Adds them, and returns all ports; or why there are none to speak of, as Join would say it.
absl::StatusOr<std::vector<VerbsPort>> AddRdma(Report& report);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFT_INFO_RDMA_H_
