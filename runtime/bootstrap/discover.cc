#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/bootstrap/foreign_launcher.h"
#include "runtime/bootstrap/lone_bootstrap.h"
#include "runtime/bootstrap/weftrun_bootstrap.h"

namespace weft {

absl::StatusOr<std::unique_ptr<Bootstrap>> Discover() {
  // First, so that weftrun works inside a step or a job of another launcher.
  if (const char* place = std::getenv("WEFT_BOOTSTRAP"); place != nullptr) {
    return WeftrunBootstrap::Connect(place);
  }
  const auto launcher = ForeignLauncher([](const char* name) { return std::getenv(name); });
  if (launcher) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this process was started by ", *launcher,
        ", whose ranks Weft cannot bring together: use `weftrun -n N program` instead (inside a "
        "batch script or an allocation too), or each process would be a job of its own"));
  }
  return std::make_unique<LoneBootstrap>();
}

}  // namespace weft
