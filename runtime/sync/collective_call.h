// A collective call, as the ranks compare it, and the bitmap that calls which
// allocate bring: plain values, alike in all processes of a job.
#ifndef WEFT_RUNTIME_SYNC_COLLECTIVE_CALL_H_
#define WEFT_RUNTIME_SYNC_COLLECTIVE_CALL_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/base/control_layout.h"

namespace weft {

// The values are shared between processes.
enum class CollectiveKind : uint64_t {
  kBarrier = 1,
  kCreateSymmetric = 2,
  kCreateCounter = 3,
};

struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kBarrier;
  std::array<uint64_t, 2> arguments = {};
  friend bool operator==(const CollectiveCall&, const CollectiveCall&) = default;
};

// As its caller would spell it: "Symmetric::Create(800, 8)".
std::string DescribeCall(const CollectiveCall& call);

// What every rank is told when rank `odd` called something else than rank `first`.
absl::Status MismatchError(uint64_t odd, const CollectiveCall& odd_call, uint64_t first,
                           const CollectiveCall& first_call);

using AgreementBitmap = std::array<uint64_t, kMaxSymmetricObjects / 64>;

// The bitmaps of all ranks, combined.
struct AgreedBitmaps {
  AgreementBitmap all;  // AND
  AgreementBitmap any;  // OR
};

}  // namespace weft
#endif  // WEFT_RUNTIME_SYNC_COLLECTIVE_CALL_H_
