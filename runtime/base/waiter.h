// The one place through which every wait goes: spin a little, yield for a
// while, then block by the doorbell. More ranks than cores are usual, so how
// long each stage lasts decides how fast the runtime is; the constants were
// measured (yielding beside a process that computes costs milliseconds, a futex
// hand-over between cores 15 us, a cache line 50 ns).
//
// A Waiter remembers whether yielding has paid off lately. Any thread may wait
// by the same Waiter; use one for each kind of wait. It owns nothing.
#ifndef WEFT_RUNTIME_BASE_WAITER_H_
#define WEFT_RUNTIME_BASE_WAITER_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/functional/function_ref.h"
#include "runtime/base/control_layout.h"
#include "runtime/base/deadline.h"

namespace weft {

// Lets the other hardware thread of the core run for a moment.
inline void CpuPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Whether a node of `node_ranks` has more ranks than cpus, so that a rank that
// spins keeps another from running. Goes by the machine's cpus, since the
// affinity of a rank that is bound to one says nothing.
bool Oversubscribed(Rank node_ranks);

class Waiter {
 public:
  enum class Outcome { kReady, kMembershipChanged, kDeadline };

  struct Options {
    int spins = 0;                     // Looks, a pause apart, before the first yield.
    int64_t max_sleep_ns = INT64_MAX;  // Looks again at least this often while it sleeps.
    // Called before each look once the spins are over: what moves the data that
    // is waited for, where that needs this thread. Null or empty: nothing does.
    const std::function<void()>* progress = nullptr;
  };

  // Waits until `ready()`, which is looked at before anything else, is true.
  // kMembershipChanged: `membership.changes` differs from `seen_changes`, and
  // ready() was still false when looked at once more after that was seen.
  // kDeadline: ready() was false after the deadline had passed.
  //
  // Whoever makes ready() true does so by an atomic read-modify-write (or a
  // seq_cst fence) and then rings `bell`. ready() is called from this thread
  // only, any number of times, and may progress transports.
  template <typename Ready>
  Outcome Wait(Ready&& ready, DoorbellLine& bell, const Membership& membership,
               uint32_t seen_changes, Deadline deadline, const Options& options) {
    if (ready()) return Outcome::kReady;
    for (int i = 0; i < options.spins; ++i) {
      CpuPause();
      if (ready()) return Outcome::kReady;
    }
    return WaitLong(ready, bell, membership, seen_changes, deadline, options);
  }

 private:
  class LongWait;

  Outcome WaitLong(absl::FunctionRef<bool()> ready, DoorbellLine& bell,
                   const Membership& membership, uint32_t seen_changes, Deadline deadline,
                   const Options& options);

  // How many waits are yet to sleep without yielding first, and how many the
  // next long yield will add. Threads that race lose a hint, nothing else.
  std::atomic<uint32_t> skip_ = 0;
  std::atomic<uint32_t> penalty_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_WAITER_H_
