// A point on the monotonic clock by which something must be over. Trivially
// copyable; every call that waits takes one, so that no call waits for ever
// unless its caller said so, and a step of the wall clock disturbs nobody.
#ifndef WEFT_RUNTIME_BASE_DEADLINE_H_
#define WEFT_RUNTIME_BASE_DEADLINE_H_

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace weft {

// Nanoseconds of CLOCK_MONOTONIC.
inline int64_t MonotonicNanos() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

class Deadline {
 public:
  // Never.
  constexpr Deadline() = default;

  static Deadline After(absl::Duration duration) {
    const int64_t nanos = absl::ToInt64Nanoseconds(duration);  // Saturates.
    Deadline d;
    if (nanos != INT64_MAX) d.nanos_ = MonotonicNanos() + std::min(nanos, kFar);
    return d;
  }
  static constexpr Deadline AtMonotonicNanos(int64_t nanos) {
    Deadline d;
    d.nanos_ = nanos;
    return d;
  }

  constexpr bool infinite() const { return nanos_ == INT64_MAX; }
  constexpr int64_t monotonic_nanos() const { return nanos_; }
  bool Expired() const { return !infinite() && MonotonicNanos() >= nanos_; }
  // 0 when expired, INT64_MAX when infinite.
  int64_t RemainingNanos() const {
    return infinite() ? nanos_ : std::max<int64_t>(0, nanos_ - MonotonicNanos());
  }
  friend constexpr auto operator<=>(Deadline, Deadline) = default;

 private:
  static constexpr int64_t kFar = int64_t{1} << 60;  // 36 years.
  int64_t nanos_ = INT64_MAX;
};

// When a wait must be over: at a Deadline, or a time after its spins. Looking at
// the clock takes as long as a notification does, so that waits which may be over
// at once take this, and ask for the deadline only when they are not.
class WaitLimit {
 public:
  WaitLimit(Deadline deadline) : deadline_(deadline) {}  // NOLINT: a Deadline is one, too.
  static WaitLimit For(absl::Duration duration) {
    WaitLimit limit{Deadline()};
    limit.duration_ = duration;
    return limit;
  }

  Deadline Start() const { return duration_ ? Deadline::After(*duration_) : deadline_; }
  // For what may have to wait several times: its time starts at the first.
  Deadline StartOnce() {
    *this = Start();
    return deadline_;
  }

 private:
  Deadline deadline_;
  std::optional<absl::Duration> duration_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_DEADLINE_H_
