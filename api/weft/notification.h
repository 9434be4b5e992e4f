// Notifications and signals: how a rank learns that something was put for it.
#ifndef WEFT_NOTIFICATION_H_
#define WEFT_NOTIFICATION_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "weft/internal/reach.h"
#include "weft/rank.h"
#include "weft/remote_ptr.h"
#include "weft/rider.h"
#include "weft/team.h"

namespace weft {

// Counts notifications at each rank of a team. Riding on a put, it is raised at
// the put's target once the data is visible there:
//
//   PostPut(to, value, counter);   // at the source
//   counter.Wait(1);               // at the target; value has arrived
//
// Notifications are counted, not told apart, and none is lost. Use one counter a
// neighbour: a fast one may arrive twice before a slow one does. Move-only;
// destruction releases the counter on this rank, without blocking.
class NotificationCounter {
 public:
  // Collective and a barrier, with a barrier's deadline and errors.
  // kResourceExhausted on all ranks when all counters are in use.
  static absl::StatusOr<NotificationCounter> Create(const Team& team);

  NotificationCounter(NotificationCounter&&) noexcept = default;
  NotificationCounter& operator=(NotificationCounter&& other) noexcept;
  ~NotificationCounter() { Release(); }

  // Blocks until `count` notifications have arrived at this rank that no wait has
  // consumed, and consumes them: what their senders completed before is visible
  // afterwards. At most the waits' deadline, or until `deadline`. Late:
  // kDeadlineExceeded says how many there are, and consumes nothing. kUnavailable
  // when a rank is dead and they have not arrived. Any thread may call; each
  // notification is consumed once.
  absl::Status Wait(uint64_t count);
  absl::Status WaitUntil(uint64_t count, absl::Time deadline);

  // How many have arrived and are not consumed.
  uint64_t Arrived() const;

  // As the last argument of a put.
  operator Rider() const {
    return Rider({.kind = internal::RideSpec::Kind::kCounter, .value = id_});
  }

 private:
  NotificationCounter(std::shared_ptr<internal::Runtime> runtime, uint32_t id)
      : runtime_(std::move(runtime)), id_(id) {}
  void Release();
  absl::Status Wait(uint64_t count, int64_t deadline_nanos);

  std::shared_ptr<internal::Runtime> runtime_;  // Null when moved from.
  uint32_t id_;
};

namespace internal {
void PostNotify(const Reach& reach, Rank rank, const Rider& ride);
absl::Status WaitSignal(const Reach& reach, RemotePtr<uint64_t> signal, uint64_t at_least,
                        int64_t deadline_nanos);
}  // namespace internal

// A notification without data, after what a fence put before it. Ends at Flush.
inline void PostNotify(Rank rank, const NotificationCounter& counter) {
  internal::PostNotify(internal::reach, rank, counter);
}

// Blocks until the word at `signal`, in this rank's slab, is at least `at_least`
// (unsigned): what its setter completed before is visible afterwards. Consumes
// nothing. Deadline and errors as of NotificationCounter::Wait; kInvalidArgument
// when `signal` is not in this rank's slab. A plain put to the word does not wake
// this; SetSignal, AddSignal do.
inline absl::Status WaitSignal(RemotePtr<uint64_t> signal, uint64_t at_least) {
  return internal::WaitSignal(internal::reach, signal, at_least, 0);
}
inline absl::Status WaitSignalUntil(RemotePtr<uint64_t> signal, uint64_t at_least,
                                    absl::Time deadline) {
  return internal::WaitSignal(internal::reach, signal, at_least,
                              internal::MonotonicNanosAt(deadline));
}

}  // namespace weft
#endif  // WEFT_NOTIFICATION_H_
