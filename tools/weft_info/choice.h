// The settings in force, and what a rank that starts here with them would choose, and why.
#ifndef WEFT_TOOLS_WEFT_INFO_CHOICE_H_
#define WEFT_TOOLS_WEFT_INFO_CHOICE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/transport/verbs/port.h"
#include "tools/weft_info/report.h"

namespace weft {

// `ports`: of AddRdma.
void AddChoice(const absl::StatusOr<std::vector<VerbsPort>>& ports, Report& report);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFT_INFO_CHOICE_H_
