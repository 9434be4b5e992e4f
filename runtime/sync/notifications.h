// Notifications and signals, on the side that waits for them.
//
// A notification is an arrival counted in this rank's control region, where all
// peers may add; how many of them were consumed is private to the process. So a
// burst of any size is a number, and a peer can at worst add too many.
//
// Threads: any number may wait, also on one counter: each arrival is consumed
// once. Waits spin only while every rank can have a cpu of its own, yield, then
// sleep on this rank's doorbell. The NodeView must outlive the object.
#ifndef WEFT_RUNTIME_SYNC_NOTIFICATIONS_H_
#define WEFT_RUNTIME_SYNC_NOTIFICATIONS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/base/control_layout.h"
#include "runtime/base/deadline.h"
#include "runtime/base/doorbell.h"
#include "runtime/base/node_view.h"
#include "runtime/base/prefetch.h"
#include "runtime/base/waiter.h"
#include "runtime/sync/progress.h"

namespace weft {

// Counts an arrival at the rank that `target` belongs to and wakes whoever sleeps
// there. What the caller wrote before is visible to whom the wait releases.
// `id` < kMaxCounters.
inline void Raise(ControlRegion& target, uint32_t id) {
  std::atomic<uint64_t>& arrivals = target.counters[id].arrivals;
  PrefetchForWrite(&arrivals);
  arrivals.fetch_add(1, std::memory_order_seq_cst);
  Ring(target.doorbell);
}

class NotificationState {
 public:
  NotificationState(const NodeView& node, Progress progress);
  NotificationState(const NotificationState&) = delete;
  NotificationState& operator=(const NotificationState&) = delete;

  // Forgets whatever has arrived at `id` so far: for a counter's creation, after
  // all ranks have agreed on the id and before a barrier that any raise follows.
  void Open(uint32_t id);

  // How many arrivals of `id` nobody has consumed.
  uint64_t Pending(uint32_t id) const;

  // Consumes `n` arrivals of `id` if there are as many; never waits.
  bool TryConsume(uint32_t id, uint64_t n);

  // Waits for `n` arrivals of `id` and consumes them. kDeadlineExceeded: there
  // were fewer, nothing is consumed. kUnavailable: likewise, and a rank, which
  // is named, is dead. kInvalidArgument: no such id.
  absl::Status Wait(uint32_t id, uint64_t n, WaitLimit limit);

  // Waits until an aligned word of this rank's slab is at least `at_least`, set
  // or added to by a put's signal. Errors likewise; kOutOfRange: the word is not
  // in the slab.
  absl::Status WaitSignal(const uint64_t* word, uint64_t at_least, WaitLimit limit);

 private:
  // Looks for as long as somebody on another cpu may be about to make it true.
  template <typename Ready>
  bool Spin(const Ready& ready) const {
    if (ready()) return true;
    for (int i = 0; i < spins_; ++i) {
      CpuPause();
      if (ready()) return true;
    }
    return false;
  }

  // After the spins. `describe` says what is waited for and how far it has come.
  absl::Status Await(absl::FunctionRef<bool()> ready, Waiter& waiter, Deadline deadline,
                     absl::FunctionRef<std::string()> describe);

  const NodeView node_;
  ControlRegion& control_;
  const Progress progress_;
  const int spins_;
  Waiter counter_waiter_;
  Waiter signal_waiter_;
  std::array<std::atomic<uint64_t>, kMaxCounters> consumed_ = {};
};

}  // namespace weft
#endif  // WEFT_RUNTIME_SYNC_NOTIFICATIONS_H_
