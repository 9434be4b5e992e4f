// The mark on an error that leaves open whether the operation took effect: it
// was under way when its peer died, its lane broke, or its deadline passed. The
// runtime never repeats such an operation; whoever does must be able to tell.
#ifndef WEFT_RUNTIME_BASE_IN_DOUBT_H_
#define WEFT_RUNTIME_BASE_IN_DOUBT_H_

#include "absl/status/status.h"
#include "absl/strings/cord.h"

namespace weft {

// The type URL of the payload; its content is empty.
inline constexpr char kInDoubtUrl[] = "weft/in-doubt";

inline absl::Status MarkInDoubt(absl::Status status) {
  status.SetPayload(kInDoubtUrl, absl::Cord());
  return status;
}

inline bool IsInDoubt(const absl::Status& status) {
  return status.GetPayload(kInDoubtUrl).has_value();
}

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_IN_DOUBT_H_
