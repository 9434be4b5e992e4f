#include "runtime/base/waiter.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "runtime/base/doorbell.h"

namespace weft {
namespace {

// A budget of time: a yield takes from 0.4 us to milliseconds, so that a count
// of yields says nothing.
constexpr int64_t kYieldBudgetNs = 1'000'000;
// After a ring that did not bring what is waited for, more is likely to come;
// yet rings meant for others must not keep this thread running for ever.
constexpr int64_t kYieldBudgetAfterRingNs = 100'000;
// A yield that takes longer went to a process that computes. The kernel wakes a
// sleeper beside such a process much sooner than it returns from a yield.
constexpr int64_t kLongYieldNs = 200'000;
constexpr uint32_t kFirstPenalty = 16;
constexpr uint32_t kMaxPenalty = 256;

}  // namespace

bool Oversubscribed(Rank node_ranks) {
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  return int64_t{node_ranks} > std::max(cpus, 1L);
}

// One wait, after its spins.
class Waiter::LongWait {
 public:
  LongWait(Waiter& waiter, absl::FunctionRef<bool()> ready, DoorbellLine& bell,
           const Membership& membership, uint32_t seen_changes, Deadline deadline,
           const Options& options)
      : waiter_(waiter),
        ready_(ready),
        bell_(bell),
        membership_(membership),
        seen_changes_(seen_changes),
        deadline_(deadline),
        options_(options) {}

  Outcome Run() {
    const int64_t start = MonotonicNanos();
    if (const auto over = Look(start)) return *over;
    if (const uint32_t skip = waiter_.skip_.load(std::memory_order_relaxed); skip > 0) {
      waiter_.skip_.store(skip - 1, std::memory_order_relaxed);
    } else if (const auto over = Yield(start, kYieldBudgetNs)) {
      return *over;
    }
    for (;;) {
      const uint32_t ticket = ArmDoorbell(bell_);
      // Orders the armed state before the looks, as the ringer's read-modify-write
      // orders what it published before its look at the state. The builtin, since
      // gcc refuses std::atomic_thread_fence under ThreadSanitizer.
      __sync_synchronize();
      if (const auto over = Look()) return *over;
      SleepOnDoorbell(bell_, ticket, std::min(deadline_.RemainingNanos(), options_.max_sleep_ns));
      if (const auto over = Look()) return *over;
      const bool rung = bell_.word.load(std::memory_order_relaxed) != ticket;
      if (rung && waiter_.skip_.load(std::memory_order_relaxed) == 0) {
        if (const auto over = Yield(MonotonicNanos(), kYieldBudgetAfterRingNs)) return *over;
      }
    }
  }

 private:
  bool Ready() {
    if (options_.progress != nullptr && *options_.progress) (*options_.progress)();
    return ready_();
  }

  // How the wait ends, if it does now. `now`: the time if the caller knows it.
  std::optional<Outcome> Look(std::optional<int64_t> now = std::nullopt) {
    if (Ready()) return Outcome::kReady;
    if (membership_.changes.load(std::memory_order_acquire) != seen_changes_) {
      return Ready() ? Outcome::kReady : Outcome::kMembershipChanged;
    }
    if (deadline_.infinite()) return std::nullopt;
    if ((now ? *now : MonotonicNanos()) < deadline_.monotonic_nanos()) return std::nullopt;
    return Ready() ? Outcome::kReady : Outcome::kDeadline;
  }

  // Yields until the wait is over or, from now on, `budget_ns` is spent; nullopt: sleep.
  std::optional<Outcome> Yield(int64_t now, int64_t budget_ns) {
    const int64_t end = now + budget_ns;
    for (;;) {
      const int64_t before = now;
      sched_yield();
      now = MonotonicNanos();
      const bool took_long = now - before > kLongYieldNs;
      const uint32_t penalty = waiter_.penalty_.load(std::memory_order_relaxed);
      if (took_long) {
        const uint32_t next = std::clamp(penalty * 2, kFirstPenalty, kMaxPenalty);
        waiter_.penalty_.store(next, std::memory_order_relaxed);
        waiter_.skip_.store(next, std::memory_order_relaxed);
      }
      if (const auto over = Look(now)) {
        if (!took_long && penalty != 0) {
          waiter_.penalty_.store(penalty / 2, std::memory_order_relaxed);
        }
        return over;
      }
      if (took_long || now >= end) return std::nullopt;
    }
  }

  Waiter& waiter_;
  const absl::FunctionRef<bool()> ready_;
  DoorbellLine& bell_;
  const Membership& membership_;
  const uint32_t seen_changes_;
  const Deadline deadline_;
  const Options& options_;
};

Waiter::Outcome Waiter::WaitLong(absl::FunctionRef<bool()> ready, DoorbellLine& bell,
                                 const Membership& membership, uint32_t seen_changes,
                                 Deadline deadline, const Options& options) {
  return LongWait(*this, ready, bell, membership, seen_changes, deadline, options).Run();
}

}  // namespace weft
