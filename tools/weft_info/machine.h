// The machine and its limits, as far as they matter to Weft.
#ifndef WEFT_TOOLS_WEFT_INFO_MACHINE_H_
#define WEFT_TOOLS_WEFT_INFO_MACHINE_H_

#include "tools/weft_info/report.h"

namespace weft {

void AddMachine(Report& report);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFT_INFO_MACHINE_H_
