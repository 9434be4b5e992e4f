// How a rank goes on when others have died.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/futex.h"
#include "runtime/base/wait_failure.h"
#include "runtime/base/waiter.h"
#include "runtime/sync/job_rendezvous.h"
#include "runtime/world/runtime.h"

namespace weft::internal {
namespace {

// Until what the bootstrap knows shows in the membership.
constexpr timespec kMoment = {.tv_sec = 0, .tv_nsec = 10'000'000};

absl::Status NobodySurvives() {
  return absl::FailedPreconditionError(
      "this job ends when a rank fails: start it with weftrun --on-failure=notify");
}

// Ranks of one build understand each other's bytes.
static_assert(std::is_trivially_copyable_v<Agreement::Result>);
static_assert(sizeof(Agreement::Result) <= Bootstrap::kMaxResultBytes);

std::string ToBytes(const std::optional<Agreement::Result>& result) {
  return result ? std::string(reinterpret_cast<const char*>(&*result), sizeof(*result)) : "";
}

std::optional<Agreement::Result> FromBytes(const std::string& bytes) {
  Agreement::Result result;
  if (bytes.size() != sizeof(result)) return std::nullopt;
  std::memcpy(&result, bytes.data(), sizeof(result));
  return result;
}

}  // namespace

void Runtime::WatchDeaths() {
  engine_->OnLost([this](Rank peer, std::string_view why) {
    {
      absl::MutexLock lock(&lost_lock_);
      lost_.push_back(peer);
    }
    bootstrap_->Accuse(peer, why);
  });
  death_watch_ = std::make_unique<DeathWatch>(
      node_, DeathWatch::Actions{
                 .abandon_dead = [this] { engine_->AbandonDead(); },
                 .acknowledge = [this](uint32_t proposal) { bootstrap_->Acknowledge(proposal); }});
}

bool Runtime::HasLost() {
  if (FirstDead(node_)) return true;
  absl::MutexLock lock(&lost_lock_);
  return std::ranges::any_of(lost_, [this](Rank peer) {
    return node_.membership->state[peer].load(std::memory_order_acquire) == MemberState::kAlive;
  });
}

DeadSet Runtime::Dead() const { return ReadDeadSet(node_); }

void Runtime::OnDeath(std::function<void(const DeadSet&)> callback) {
  if (death_watch_ != nullptr && !forked()) death_watch_->Tell(std::move(callback));
}

std::shared_ptr<const std::vector<Rank>> Runtime::members() const {
  absl::MutexLock lock(&members_lock_);
  return members_;
}

absl::StatusOr<uint32_t> Runtime::AwaitEpoch(Deadline deadline) {
  const Membership& membership = *node_.membership;
  if (!HasLost()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "Continue on rank %u: no rank has died %s", rank(),
        accepted_epoch_.load(std::memory_order_relaxed) == 0 ? "" : "since the last one"));
  }
  uint32_t epoch = 0;
  const auto agreed = [&] {
    epoch = membership.epoch.load(std::memory_order_acquire);
    return epoch > accepted_epoch_.load(std::memory_order_relaxed) &&
           epoch == membership.proposal.load(std::memory_order_acquire);
  };
  Waiter waiter;
  for (;;) {
    const uint32_t seen = membership.changes.load(std::memory_order_acquire);
    switch (waiter.Wait(agreed, node_.control(rank()).doorbell, membership, seen, deadline, {})) {
      case Waiter::Outcome::kReady:
        return epoch;
      case Waiter::Outcome::kMembershipChanged:
        continue;
      case Waiter::Outcome::kDeadline:
        return absl::DeadlineExceededError(absl::StrFormat(
            "Continue on rank %u: the survivors have not agreed on who is dead", rank()));
    }
  }
}

absl::Status Runtime::Continue() {
  if (absl::Status usable = Usable(); !usable.ok()) return usable;
  if (death_watch_ == nullptr) return NobodySurvives();
  const Deadline deadline = WaitDeadline();
  for (;;) {
    auto epoch = AwaitEpoch(deadline);
    if (!epoch.ok()) return epoch.status();
    // As every collective call: nothing that was posted earlier lands behind it. What became of it
    // is left to Flush, which need not tell of the dead by then.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (Rank peer = 0; peer < size(); ++peer) engine_->Settle(peer, OperationDeadline());
    // Whoever meets in the new epoch does so in the same memory.
    if (absl::Status settled = agreement_->Settle(deadline); !settled.ok()) return settled;
    const uint32_t seen = node_.membership->changes.load(std::memory_order_acquire);
    auto survivors = bootstrap_->Continue(*epoch, agreement_->completed(),
                                          ToBytes(agreement_->last()), deadline);
    if (absl::IsAborted(survivors.status())) {
      FutexWait(node_.membership->changes, seen, &kMoment);
      continue;
    }
    if (!survivors.ok()) return survivors.status();

    const bool behind = survivors->completed > agreement_->completed();
    symmetric_->GoOn(behind ? FromBytes(survivors->result) : std::nullopt);
    counters_->GoOn();
    agreement_->GoOn(std::make_unique<JobRendezvous>(node_, *engine_, progress_, survivors->members,
                                                     survivors->epoch),
                     survivors->completed);
    accepted_epoch_.store(survivors->epoch, std::memory_order_release);
    absl::MutexLock lock(&members_lock_);
    members_ = std::make_shared<const std::vector<Rank>>(std::move(survivors->members));
    return absl::OkStatus();
  }
}

absl::StatusOr<std::span<const std::byte>> Runtime::Salvage(Rank dead) const {
  if (absl::Status usable = Usable(); !usable.ok()) return usable;
  if (dead >= size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("Salvage: there is no rank %u in a job of %u ranks", dead, size()));
  }
  const Membership& membership = *node_.membership;
  if (membership.dead_since[dead].load(std::memory_order_acquire) == 0) {
    if (death_watch_ == nullptr) return NobodySurvives();
    return absl::FailedPreconditionError(absl::StrFormat(
        "Salvage on rank %u: rank %u is not among the dead that the survivors have agreed on",
        rank(), dead));
  }
  if (membership.node[dead].load(std::memory_order_relaxed) !=
      membership.node[rank()].load(std::memory_order_relaxed)) {
    return absl::UnavailableError(
        absl::StrFormat("Salvage on rank %u: rank %u ran on another node, and its memory has gone "
                        "with it",
                        rank(), dead));
  }
  return std::span<const std::byte>(node_.slab(dead), node_.slab_bytes);
}

}  // namespace weft::internal
