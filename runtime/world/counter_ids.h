// Which notification counters are in use: an id is the lowest that is free on
// all members. Create: one call at a time, which the Agreement guards. Release:
// any thread, never blocks.
#ifndef WEFT_RUNTIME_WORLD_COUNTER_IDS_H_
#define WEFT_RUNTIME_WORLD_COUNTER_IDS_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/base/control_layout.h"
#include "runtime/base/deadline.h"
#include "runtime/sync/agreement.h"
#include "runtime/sync/notifications.h"

namespace weft {

class CounterIds {
 public:
  CounterIds(Agreement& agreement, NotificationState& notifications)
      : agreement_(agreement), ready_(agreement), notifications_(notifications) {}

  // Collective: see NotificationCounter::Create. The counter is at zero. A call that
  // was late goes on when it is made again.
  absl::StatusOr<uint32_t> Create(Deadline deadline);
  void Release(uint32_t id);

  // Going on without lost ranks: the call that this rank was in will not be made again.
  void GoOn() {
    if (const auto id = ready_.Drop()) Release(*id);
  }

 private:
  absl::StatusOr<uint32_t> Open(Deadline deadline);

  Agreement& agreement_;
  ReadyMeeting ready_;
  NotificationState& notifications_;
  std::array<std::atomic<uint64_t>, kMaxCounters / 64> used_ = {};
};
static_assert(kMaxCounters % 64 == 0);

}  // namespace weft
#endif  // WEFT_RUNTIME_WORLD_COUNTER_IDS_H_
