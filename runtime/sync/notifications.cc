#include "runtime/sync/notifications.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/wait_failure.h"

namespace weft {
namespace {

// 5 us: the time of a hand-over between cpus and of a copy of some 64 KiB.
constexpr int kSpins = 200;

uint64_t LoadSignal(const uint64_t* word) {
  // atomic_ref of a const type is not in C++20; a load does not write.
  return std::atomic_ref<uint64_t>(*const_cast<uint64_t*>(word)).load(std::memory_order_acquire);
}

}  // namespace

NotificationState::NotificationState(const NodeView& node, Progress progress)
    : node_(node),
      control_(node.control(node.rank)),
      progress_(std::move(progress)),
      spins_(Oversubscribed(node.RanksHere()) ? 0 : kSpins) {}

void NotificationState::Open(uint32_t id) {
  // What has arrived for an earlier counter of that id, and nobody was told of yet.
  if (progress_.step) progress_.step();
  consumed_[id].store(control_.counters[id].arrivals.load(std::memory_order_acquire),
                      std::memory_order_release);
}

uint64_t NotificationState::Pending(uint32_t id) const {
  const uint64_t consumed = consumed_[id].load(std::memory_order_acquire);
  const uint64_t arrivals = control_.counters[id].arrivals.load(std::memory_order_acquire);
  // Less only when somebody wrote where he should not.
  return arrivals < consumed ? 0 : arrivals - consumed;
}

bool NotificationState::TryConsume(uint32_t id, uint64_t n) {
  uint64_t consumed = consumed_[id].load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t arrivals = control_.counters[id].arrivals.load(std::memory_order_acquire);
    if (arrivals < consumed || arrivals - consumed < n) return false;
    if (consumed_[id].compare_exchange_weak(consumed, consumed + n, std::memory_order_acq_rel,
                                            std::memory_order_relaxed)) {
      return true;
    }
  }
}

absl::Status NotificationState::Wait(uint32_t id, uint64_t n, WaitLimit limit) {
  if (id >= kMaxCounters) {
    return absl::InvalidArgumentError(
        absl::StrCat("notification counter ", id, " does not exist: ids are below ", kMaxCounters));
  }
  const auto ready = [this, id, n] { return TryConsume(id, n); };
  if (Spin(ready)) return absl::OkStatus();
  return Await(ready, counter_waiter_, limit.Start(), [&] {
    return absl::StrCat("notification counter ", id, " of rank ", node_.rank, ": waited for ", n,
                        " arrivals, of which ", Pending(id), " came");
  });
}

absl::Status NotificationState::WaitSignal(const uint64_t* word, uint64_t at_least,
                                           WaitLimit limit) {
  // Wraps for an address below the slab.
  const uint64_t offset =
      reinterpret_cast<uintptr_t>(word) - reinterpret_cast<uintptr_t>(node_.slab(node_.rank));
  if (offset % sizeof(uint64_t) != 0 || offset >= node_.slab_bytes) {
    return absl::OutOfRangeError(
        absl::StrCat("WaitSignal: not an aligned 8-byte word of the slab of rank ", node_.rank,
                     "; wait for a signal at the rank whose memory it is in"));
  }
  const auto ready = [&] { return LoadSignal(word) >= at_least; };
  if (Spin(ready)) return absl::OkStatus();
  return Await(ready, signal_waiter_, limit.Start(), [&] {
    return absl::StrCat("signal at offset ", offset, " of rank ", node_.rank,
                        ": waited for at least ", at_least, ", it is ", LoadSignal(word));
  });
}

absl::Status NotificationState::Await(absl::FunctionRef<bool()> ready, Waiter& waiter,
                                      Deadline deadline,
                                      absl::FunctionRef<std::string()> describe) {
  const Membership& membership = *node_.membership;
  const Waiter::Options options = {.max_sleep_ns = progress_.every_ns, .progress = &progress_.step};
  uint32_t seen_changes = 0;
  for (;;) {
    switch (waiter.Wait(ready, control_.doorbell, membership, seen_changes, deadline, options)) {
      case Waiter::Outcome::kReady:
        return absl::OkStatus();
      case Waiter::Outcome::kDeadline:
        return absl::DeadlineExceededError(
            absl::StrCat(describe(), " before the deadline; nothing was consumed"));
      case Waiter::Outcome::kMembershipChanged:
        break;
    }
    // Who has left may have raised before; only a death ends the wait.
    seen_changes = membership.changes.load(std::memory_order_acquire);
    if (const std::optional<Rank> dead = FirstDead(node_)) {
      if (ready()) return absl::OkStatus();
      return LostRankError(membership, *dead, describe());
    }
  }
}

}  // namespace weft
