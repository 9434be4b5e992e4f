// Order and completion of what this process has started.
#ifndef WEFT_ORDER_H_
#define WEFT_ORDER_H_

#include <atomic>

#include "absl/status/status.h"
#include "weft/internal/reach.h"
#include "weft/rank.h"

namespace weft {

namespace internal {

inline void Fence(const Reach& reach, Rank rank) {
  std::atomic_thread_fence(std::memory_order_release);
  if (reach.unsettled->load(std::memory_order_acquire) != 0) [[unlikely]] {
    SlowFence(reach, rank);
  }
}

inline absl::Status Flush(const Reach& reach, Rank rank) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (reach.unsettled->load(std::memory_order_acquire) != 0 ||
      reach.limit[(rank + 1) & 0xffff].load(std::memory_order_relaxed) == 0) [[unlikely]] {
    return SlowFlush(reach, rank);
  }
  return absl::OkStatus();
}

inline absl::Status Flush(const Reach& reach) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (reach.unsettled->load(std::memory_order_acquire) != 0 ||
      reach.dead->load(std::memory_order_relaxed) != 0) [[unlikely]] {
    return SlowFlushAll(reach);
  }
  return absl::OkStatus();
}

}  // namespace internal

// The calling thread's earlier operations to `rank` reach it before its later
// ones. Says nothing of completion, and does not wait for it: but for a rank of the
// own node in a job that reaches others by RDMA, where what is under way to it (an atomic,
// through the device) must be over before a store; at most the operations' deadline.
inline void Fence(Rank rank) { internal::Fence(internal::reach, rank); }

// Blocks until all earlier operations to `rank`, of all threads that happen
// before this call, are complete and globally ordered; at most the operations'
// deadline. Returns the errors of posted operations that this thread was not
// told of yet. kUnavailable once the rank is dead: that error never clears.
// kDeadlineExceeded: what was posted is given up, in doubt.
inline absl::Status Flush(Rank rank) { return internal::Flush(internal::reach, rank); }

// Flush of all ranks: completes the operations to the live ones before it reports.
inline absl::Status Flush() { return internal::Flush(internal::reach); }

}  // namespace weft
#endif  // WEFT_ORDER_H_
