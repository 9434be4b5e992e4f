#include "runtime/transport/verbs/verbs_options.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/transport/verbs/address_blob.h"
#include "runtime/transport/verbs/port.h"

namespace weft {

absl::StatusOr<bool> ConnectsByCm(ConnectChoice choice, const VerbsPort& port, Rank ranks) {
  if (choice == ConnectChoice::kAuto) return port.iwarp || ranks > kMostEager;
  if (choice == ConnectChoice::kCm) return true;
  if (port.iwarp) {
    return absl::FailedPreconditionError(
        absl::StrCat(port.name(),
                     " is iWARP, where librdmacm alone can connect: set "
                     "WEFT_VERBS_CONNECT=cm, or choose another port by "
                     "WEFT_VERBS_DEVICE"));
  }
  if (ranks > kMaxExchangedRanks) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "queue pairs of ", ranks, " ranks cannot be exchanged through the bootstrap, at most of ",
        kMaxExchangedRanks, ": set WEFT_VERBS_CONNECT=cm"));
  }
  return false;
}

}  // namespace weft
