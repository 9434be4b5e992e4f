// What limits the memory that a process can register for RDMA, which pins it: told before it
// is tried, and after it has failed, with what to do about it.
//
// Plain data and functions; any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_PINNING_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_PINNING_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace weft {

struct PinningLimits {
  static constexpr uint64_t kNone = UINT64_MAX;

  uint64_t lockable = kNone;  // Bytes: RLIMIT_MEMLOCK.
  uint64_t pinned = 0;        // Of these, in use.
  bool exempt = false;        // CAP_IPC_LOCK lifts it.
  uint64_t mappings = 0;  // Of memory, where they were counted; a registration may take two more.
  uint64_t max_mappings = kNone;

  static PinningLimits OfThisProcess();
  // Takes as long as there are mappings.
  void CountMappings();
};

// What the lines of /proc/self/status say of it: `pinned` and `exempt`.
PinningLimits ParsePinning(std::string_view status);

// kResourceExhausted: `bytes` more would be refused.
absl::Status CheckPinning(uint64_t bytes, const PinningLimits& limits);

// Why the registration of `bytes` failed with `error`, on a device that can have `max_regions`.
absl::Status RegistrationError(uint64_t bytes, int error, int max_regions,
                               const PinningLimits& limits);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_PINNING_H_
