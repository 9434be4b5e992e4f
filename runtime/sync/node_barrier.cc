#include "runtime/sync/node_barrier.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/doorbell.h"
#include "runtime/base/prefetch.h"
#include "runtime/base/wait_failure.h"

namespace weft {
namespace {

// A word has a byte for each of so many cpus, and the sum of all bytes, which
// is the number of ranks, must fit a byte too.
constexpr uint32_t kCpuBytes = 8;
constexpr Rank kMaxByCpu = 255;
// 2.4 us: about as long as ranks on other cpus take that are on their way.
constexpr int kSpins = 100;
constexpr size_t kNamedInErrors = 8;

uint64_t SumOfBytes(uint64_t word) { return word * 0x0101'0101'0101'0101u >> 56; }

}  // namespace

uint32_t ConfiguredCpus() {
  return static_cast<uint32_t>(std::max(sysconf(_SC_NPROCESSORS_CONF), 1L));
}

NodeBarrier::NodeBarrier(const NodeView& node, Progress progress, uint32_t configured_cpus)
    : node_(node),
      lines_(node.control(0).barrier),
      algorithm_(node.size > 2 && node.size <= kMaxByCpu && configured_cpus <= kCpuBytes
                     ? Algorithm::kByCpu
                     : Algorithm::kCounter),
      oversubscribed_(Oversubscribed(node.RanksHere())),
      progress_(std::move(progress)) {}

void NodeBarrier::RequireComparison() {
  lines_.checked[generation_ % 2].store(generation_, std::memory_order_relaxed);
}

absl::Status NodeBarrier::Enter(WaitLimit limit, bool& compare) {
  bool last = false;
  if (!arrived_) {
    PrefetchForWrite(&lines_.arrived);
    entry().generation.store(generation_, std::memory_order_release);
    arrived_ = true;
    last = algorithm_ == Algorithm::kByCpu ? ArriveByCpu() : ArriveByCounter();
  }
  if (last) {
    Release();
  } else if (!SpinUntilComplete()) {
    absl::Status status = WaitForAll(limit.Start());
    if (!status.ok()) return status;
  }
  compare = lines_.checked[generation_ % 2].load(std::memory_order_relaxed) == generation_;
  ++generation_;
  arrived_ = false;
  return absl::OkStatus();
}

bool NodeBarrier::ArriveByCpu() {
  // Two loads where the C library has registered rseq, as it does by default.
  const uint32_t shift = 8 * (static_cast<uint32_t>(sched_getcpu()) % kCpuBytes);
  const uint64_t unit = uint64_t{1} << shift;
  if (unit != cpu_unit_) [[unlikely]] {
    lines_.population.fetch_add(unit - cpu_unit_, std::memory_order_relaxed);
    cpu_unit_ = unit;
  }
  const uint64_t arrived = lines_.arrived.fetch_add(unit, std::memory_order_acq_rel) + unit;
  if (SumOfBytes(arrived) == node_.size) return true;
  const uint64_t population = lines_.population.load(std::memory_order_relaxed);
  const bool missing_here = (population >> shift & 255) > (arrived >> shift & 255);
  spins_ = missing_here ? 0 : kSpins;
  return false;
}

bool NodeBarrier::ArriveByCounter() {
  spins_ = oversubscribed_ ? 0 : kSpins;
  return lines_.arrived.fetch_add(1, std::memory_order_seq_cst) + 1 == generation_ * node_.size;
}

void NodeBarrier::Release() {
  if (algorithm_ == Algorithm::kByCpu) {
    // Nobody adds to it before the new generation is seen.
    lines_.arrived.store(0, std::memory_order_relaxed);
    lines_.generation.exchange(generation_, std::memory_order_seq_cst);
  }
  Ring(lines_.doorbell);
}

bool NodeBarrier::Complete() const {
  if (algorithm_ == Algorithm::kByCpu) {
    return lines_.generation.load(std::memory_order_acquire) >= generation_;
  }
  return lines_.arrived.load(std::memory_order_acquire) >= generation_ * node_.size;
}

bool NodeBarrier::SpinUntilComplete() const {
  if (Complete()) return true;
  for (int i = 0; i < spins_; ++i) {
    CpuPause();
    if (Complete()) return true;
  }
  return false;
}

absl::Status NodeBarrier::WaitForAll(Deadline deadline) {
  const Membership& membership = *node_.membership;
  const Waiter::Options options = {.max_sleep_ns = progress_.every_ns, .progress = &progress_.step};
  uint32_t seen_changes = 0;
  for (;;) {
    switch (waiter_.Wait([this] { return Complete(); }, lines_.doorbell, membership, seen_changes,
                         deadline, options)) {
      case Waiter::Outcome::kReady:
        return absl::OkStatus();
      case Waiter::Outcome::kDeadline:
        return LateError();
      case Waiter::Outcome::kMembershipChanged:
        break;
    }
    seen_changes = membership.changes.load(std::memory_order_acquire);
    const std::optional<Rank> lost = FirstLost(membership, node_.size);
    if (lost && !Complete()) {
      return LostRankError(membership, *lost,
                           absl::StrCat("barrier ", generation_, " cannot complete"));
    }
  }
}

bool NodeBarrier::HasArrived(Rank rank) const {
  const CollectiveEntry& theirs = node_.control(rank).entries[generation_ % 2];
  return theirs.generation.load(std::memory_order_acquire) == generation_;
}

absl::Status NodeBarrier::LateError() const {
  std::string names;
  size_t missing = 0;
  for (Rank r = 0; r < node_.size; ++r) {
    if (HasArrived(r)) continue;
    if (++missing <= kNamedInErrors) absl::StrAppend(&names, names.empty() ? "" : ", ", r);
  }
  const std::string who =
      missing == 0 ? "all ranks have arrived by now"
                   : absl::StrCat(missing, " of ", node_.size, " ranks have not arrived: ", names,
                                  missing > kNamedInErrors ? ", ..." : "");
  return absl::DeadlineExceededError(absl::StrCat(
      "barrier ", generation_, ": ", who, "; call it again to go on waiting for the same one"));
}

}  // namespace weft
