#include "runtime/transport/verbs/dialect.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {

absl::StatusOr<Dialect> ChooseDialect(const VerbsPort& port, ibv_atomic_cap atomics,
                                      const VerbsOptions& options) {
  // iWARP has neither atomics nor immediates, whatever a driver says.
  const bool able = !port.iwarp && atomics != IBV_ATOMIC_NONE;
  if (options.atomics == AtomicsChoice::kNic && !able) {
    return absl::FailedPreconditionError(absl::StrCat(
        "WEFT_ATOMICS=nic, but ", port.name(), port.iwarp ? ", which is iWARP," : "",
        " has no atomics: set WEFT_ATOMICS=agent (or auto) on all ranks, or choose another device "
        "by WEFT_VERBS_DEVICE"));
  }
  return Dialect{.messages = !able || options.atomics == AtomicsChoice::kAgent,
                 .proves = port.iwarp || options.strict_flush,
                 .waits_to_fence = port.iwarp,
                 .remote_sinks = port.iwarp,
                 .max_inline = port.iwarp ? 64u : 128u};
}

}  // namespace weft
