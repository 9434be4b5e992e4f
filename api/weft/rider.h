// What can ride on a put: a notification or a signal, raised at the put's target
// once the put's data, and what a fence put before it, is visible there.
#ifndef WEFT_RIDER_H_
#define WEFT_RIDER_H_

#include <cstdint>

#include "weft/internal/reach.h"
#include "weft/remote_ptr.h"

namespace weft {

// Made by SetSignal, AddSignal, or implicitly from a NotificationCounter.
class Rider {
 public:
  constexpr Rider() = default;  // Nothing.
  explicit constexpr Rider(internal::RideSpec spec) : spec_(spec) {}
  constexpr const internal::RideSpec& spec() const { return spec_; }
  // Null: nothing rides.
  constexpr const internal::RideSpec* spec_or_null() const { return empty() ? nullptr : &spec_; }
  constexpr bool empty() const { return spec_.kind == internal::RideSpec::Kind::kNone; }

 private:
  internal::RideSpec spec_;
};

// Stores `value` to `signal`, or adds it. The word must be on the rank that the
// put goes to: kInvalidArgument otherwise. Its owner waits with WaitSignal.
inline constexpr Rider SetSignal(RemotePtr<uint64_t> signal, uint64_t value) {
  return Rider(
      {.kind = internal::RideSpec::Kind::kSetSignal, .value = value, .signal = signal.bits()});
}
inline constexpr Rider AddSignal(RemotePtr<uint64_t> signal, uint64_t value) {
  return Rider(
      {.kind = internal::RideSpec::Kind::kAddSignal, .value = value, .signal = signal.bits()});
}

}  // namespace weft
#endif  // WEFT_RIDER_H_
