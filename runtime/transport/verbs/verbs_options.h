// What a rank can ask of the verbs transport. Plain data and functions; any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_OPTIONS_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weft {

// Who carries atomics out; WEFT_ATOMICS.
enum class AtomicsChoice : uint8_t {
  kAuto,   // The device if it can, else the agent.
  kNic,    // The device.
  kAgent,  // The processor of the rank that they are for.
};

// kInvalidArgument says what it takes.
absl::StatusOr<AtomicsChoice> ParseAtomicsChoice(std::string_view text);

struct VerbsOptions {
  std::string device;  // As ChoosePort takes it.
  AtomicsChoice atomics = AtomicsChoice::kAuto;
  bool strict_flush = false;  // Prove all placement by READs.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_OPTIONS_H_
