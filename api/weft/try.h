// WEFT_TRY(expr): opt-in shorthand for functions that return an absl::Status or
// StatusOr. Returns the error of `expr` from the enclosing function; otherwise
// yields its value, or nothing for a Status:
//
//   WEFT_TRY(world.Barrier());
//   auto cells = WEFT_TRY(weft::Symmetric<int>::Create(world, 8));
//
// A statement expression, which GCC and Clang have.
#ifndef WEFT_TRY_H_
#define WEFT_TRY_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::internal {

inline absl::Status TakeStatus(absl::Status& status) { return std::move(status); }
template <typename T>
absl::Status TakeStatus(absl::StatusOr<T>& result) {
  return std::move(result).status();
}

inline void TakeValue(absl::Status&) {}
template <typename T>
T TakeValue(absl::StatusOr<T>& result) {
  return *std::move(result);
}

}  // namespace weft::internal

#define WEFT_TRY(expression)                                                         \
  __extension__({                                                                    \
    auto weft_try_result = (expression);                                             \
    if (!weft_try_result.ok()) return ::weft::internal::TakeStatus(weft_try_result); \
    ::weft::internal::TakeValue(weft_try_result);                                    \
  })

#endif  // WEFT_TRY_H_
