// What is known of the calls that a set of ranks made, in the form in which it
// travels between them. Combining two summaries gives that of both sets together;
// a rank that is in both counts once, so that sets may overlap.
//
// A plain value. Others may write the memory that one comes from: whatever is in
// it, nothing here does more than name a wrong rank.
#ifndef WEFT_RUNTIME_SYNC_CALL_SUMMARY_H_
#define WEFT_RUNTIME_SYNC_CALL_SUMMARY_H_

#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "runtime/sync/collective_call.h"

namespace weft {

struct CallSummary {
  static constexpr uint64_t kNobody = ~uint64_t{0};

  uint64_t first = kNobody;  // The lowest rank,
  CollectiveCall call;       // and what it called.
  uint64_t odd = kNobody;    // The lowest rank that called something else; or nobody.
  CollectiveCall odd_call;
  AgreedBitmaps bitmaps;  // Of all; they mean something where all called the same.

  static CallSummary Of(uint64_t rank, const CollectiveCall& call, const AgreementBitmap& bitmap);

  void Add(const CallSummary& other);

  // OK, or what all ranks are told.
  absl::Status Verdict() const;
};
static_assert(std::is_trivially_copyable_v<CallSummary>);
static_assert(sizeof(CallSummary) == sizeof(uint64_t) * kCallSummaryWords);

}  // namespace weft
#endif  // WEFT_RUNTIME_SYNC_CALL_SUMMARY_H_
