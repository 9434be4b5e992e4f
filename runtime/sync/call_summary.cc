#include "runtime/sync/call_summary.h"

#include <cstddef>
#include <utility>

namespace weft {

CallSummary CallSummary::Of(uint64_t rank, const CollectiveCall& call,
                            const AgreementBitmap& bitmap) {
  return {.first = rank,
          .call = call,
          .odd = kNobody,
          .odd_call = {},
          .bitmaps = {.all = bitmap, .any = bitmap}};
}

void CallSummary::Add(const CallSummary& other) {
  for (size_t i = 0; i < bitmaps.all.size(); ++i) {
    bitmaps.all[i] &= other.bitmaps.all[i];
    bitmaps.any[i] |= other.bitmaps.any[i];
  }
  const auto consider = [this](uint64_t rank, const CollectiveCall& called) {
    if (rank == kNobody || called == call || rank >= odd) return;
    odd = rank;
    odd_call = called;
  };
  // The lowest rank's call is what all others are compared with. If that is now another
  // than before, the lowest rank so far is the lowest that called what it did.
  if (other.first < first) {
    const uint64_t former = std::exchange(first, other.first);
    const CollectiveCall former_call = std::exchange(call, other.call);
    if (former_call != call) {
      odd = kNobody;
      consider(former, former_call);
    }
  }
  consider(other.first, other.call);
  consider(other.odd, other.odd_call);
}

absl::Status CallSummary::Verdict() const {
  return odd == kNobody ? absl::OkStatus() : MismatchError(odd, odd_call, first, call);
}

}  // namespace weft
