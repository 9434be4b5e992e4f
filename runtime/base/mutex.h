// A mutex of which lock and unlock are inlined: one atomic instruction each while nobody else
// wants it, where std::mutex takes 55 instructions for the pair. For what is taken at every
// operation; with std::lock_guard and std::unique_lock.
//
// Not recursive, not fair, of one process. Any thread may call.
#ifndef WEFT_RUNTIME_BASE_MUTEX_H_
#define WEFT_RUNTIME_BASE_MUTEX_H_

#include <atomic>
#include <cstdint>

namespace weft {

class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() {
    if (!try_lock()) [[unlikely]] {
      LockAwaited();
    }
  }
  bool try_lock() {
    State free = kFree;
    return state_.compare_exchange_strong(free, kHeld, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) [[unlikely]] {
      state_.notify_one();
    }
  }

 private:
  // Of 32 bits: what the kernel can wait for.
  enum State : uint32_t { kFree, kHeld, kAwaited };

  // Whoever has waited leaves it awaited, since he does not know of others who wait.
  [[gnu::noinline]] void LockAwaited() {
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) state_.wait(kAwaited);
  }

  std::atomic<State> state_ = kFree;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_MUTEX_H_
