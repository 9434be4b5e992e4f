#include "runtime/sync/agreement.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

CollectiveCall ReadCall(const CollectiveEntry& entry) {
  return {.kind = static_cast<CollectiveKind>(entry.kind.load(std::memory_order_relaxed)),
          .arguments = {entry.arguments[0].load(std::memory_order_relaxed),
                        entry.arguments[1].load(std::memory_order_relaxed)}};
}

void WriteCall(const CollectiveCall& call, CollectiveEntry& entry) {
  entry.kind.store(static_cast<uint64_t>(call.kind), std::memory_order_relaxed);
  entry.arguments[0].store(call.arguments[0], std::memory_order_relaxed);
  entry.arguments[1].store(call.arguments[1], std::memory_order_relaxed);
}

class BusyGuard {
 public:
  explicit BusyGuard(std::atomic<bool>& busy)
      : busy_(busy), owned_(!busy.exchange(true, std::memory_order_acquire)) {}
  BusyGuard(const BusyGuard&) = delete;
  BusyGuard& operator=(const BusyGuard&) = delete;
  ~BusyGuard() {
    if (owned_) busy_.store(false, std::memory_order_release);
  }
  bool owned() const { return owned_; }

 private:
  std::atomic<bool>& busy_;
  const bool owned_;
};

}  // namespace

std::string DescribeCall(const CollectiveCall& call) {
  const auto with_arguments = [&call](const char* name) {
    return absl::StrCat(name, "(", call.arguments[0], ", ", call.arguments[1], ")");
  };
  switch (call.kind) {
    case CollectiveKind::kBarrier:
      return "Barrier()";
    case CollectiveKind::kCreateSymmetric:
      return with_arguments("Symmetric::Create");
    case CollectiveKind::kCreateCounter:
      return "NotificationCounter::Create()";
  }
  // A peer's memory may hold anything.
  return absl::StrCat("an unknown collective call (kind ", static_cast<uint64_t>(call.kind), ")");
}

Agreement::Agreement(const NodeView& node, Progress progress, uint32_t configured_cpus)
    : node_(node), barrier_(node, std::move(progress), configured_cpus) {}

absl::Status Agreement::Barrier(WaitLimit limit) {
  return Run({}, {}, /*check=*/false, limit, nullptr);
}

absl::StatusOr<Agreement::Result> Agreement::Agree(const CollectiveCall& call,
                                                   std::span<const uint64_t> bitmap,
                                                   Deadline deadline) {
  Result result;
  absl::Status status = Run(call, bitmap, /*check=*/true, deadline, &result);
  if (!status.ok()) return status;
  return result;
}

absl::Status Agreement::Run(const CollectiveCall& call, std::span<const uint64_t> bitmap,
                            bool check, WaitLimit limit, Result* result) {
  const BusyGuard guard(busy_);
  if (!guard.owned()) {
    return absl::FailedPreconditionError(
        absl::StrCat(DescribeCall(call), ": another thread of rank ", node_.rank,
                     " is in a collective call; make them one after the other"));
  }
  if (!lost_.ok()) return lost_;
  const uint64_t generation = barrier_.generation();
  if (!barrier_.arrived()) {
    CollectiveEntry& mine = barrier_.entry();
    WriteCall(call, mine);
    pending_ = call;
    if (check) {
      for (size_t i = 0; i < std::size(mine.bitmap); ++i) {
        mine.bitmap[i].store(i < bitmap.size() ? bitmap[i] : 0, std::memory_order_relaxed);
      }
      barrier_.RequireComparison();
    }
  } else if (pending_ != call) {
    return absl::FailedPreconditionError(absl::StrCat(
        DescribeCall(call), ": rank ", node_.rank, " has not completed its earlier ",
        DescribeCall(pending_), ", which ended with an error; make that call again first"));
  }
  bool compare = false;
  if (absl::Status status = barrier_.Enter(limit, compare); !status.ok()) {
    if (absl::IsUnavailable(status)) lost_ = status;
    return status;
  }
  // Until this rank arrives again, no entry of this slot is overwritten.
  if (compare || check) [[unlikely]] {
    if (absl::Status status = Compare(generation % 2, generation); !status.ok()) return status;
  }
  if (result != nullptr) *result = Combine(generation % 2);
  return absl::OkStatus();
}

// Compares all with rank 0, so that every rank comes to the same verdict.
absl::Status Agreement::Compare(size_t slot, uint64_t generation) const {
  const CollectiveCall expected = ReadCall(node_.control(0).entries[slot]);
  for (Rank r = 0; r < node_.size; ++r) {
    const CollectiveEntry& entry = node_.control(r).entries[slot];
    if (entry.generation.load(std::memory_order_relaxed) != generation) {
      return absl::InternalError(
          absl::StrCat("collective call ", generation, ": the entry of rank ", r,
                       " was overwritten; look for a rank that writes outside of its objects"));
    }
    const CollectiveCall actual = ReadCall(entry);
    if (actual != expected) {
      return absl::InvalidArgumentError(
          absl::StrCat("collective calls do not match: rank ", r, " called ", DescribeCall(actual),
                       ", rank 0 called ", DescribeCall(expected),
                       "; all ranks must make the same collective calls in the same order"));
    }
  }
  return absl::OkStatus();
}

Agreement::Result Agreement::Combine(size_t slot) const {
  Result result;
  result.all.fill(~uint64_t{0});
  result.any.fill(0);
  for (Rank r = 0; r < node_.size; ++r) {
    const CollectiveEntry& entry = node_.control(r).entries[slot];
    for (size_t i = 0; i < result.all.size(); ++i) {
      const uint64_t word = entry.bitmap[i].load(std::memory_order_relaxed);
      result.all[i] &= word;
      result.any[i] |= word;
    }
  }
  return result;
}

std::optional<uint32_t> ReadyMeeting::unfinished() const {
  const uint32_t id = unfinished_.load(std::memory_order_acquire);
  return id == kNone ? std::nullopt : std::optional(id);
}

absl::Status ReadyMeeting::Meet(const CollectiveCall& call, uint32_t id, Deadline deadline) {
  unfinished_.store(id, std::memory_order_release);
  absl::Status met = agreement_.Agree(call, {}, deadline).status();
  if (!absl::IsDeadlineExceeded(met) && !absl::IsFailedPrecondition(met)) {
    unfinished_.store(kNone, std::memory_order_release);
  }
  return met;
}

}  // namespace weft
