#include "runtime/transport/verbs/verbs_options.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {

absl::StatusOr<AtomicsChoice> ParseAtomicsChoice(std::string_view text) {
  if (text == "auto") return AtomicsChoice::kAuto;
  if (text == "nic") return AtomicsChoice::kNic;
  if (text == "agent") return AtomicsChoice::kAgent;
  return absl::InvalidArgumentError(
      absl::StrCat("WEFT_ATOMICS=", std::string(text), ": expected auto, nic or agent"));
}

}  // namespace weft
