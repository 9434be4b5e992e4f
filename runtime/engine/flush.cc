// Fences, flushes, and what they report.
#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/in_doubt.h"
#include "runtime/engine/engine_impl.h"

namespace weft {

void Engine::Impl::Fence(Rank peer) {
  Lock lock(mutex_);
  if (peer >= node_.size || peers_[peer] == nullptr) return;
  Peer& p = *peers_[peer];
  p.fence = p.next_sequence;
  p.fence_due[0] = p.fence_due[1] = true;
  p.held.open = false;
  if (held_ > 0) ProgressLocked();
}

bool Engine::Impl::Flushed(Peer& peer, uint64_t sequence) {
  return ledger_.Oldest(peer.queue(Lane::kSmall)) >= sequence &&
         ledger_.Oldest(peer.queue(Lane::kBulk)) >= sequence;
}

absl::Status Engine::Impl::Report(Rank peer) {
  const bool gone =
      peer < node_.size && (IsDead(peer) || (peers_[peer] != nullptr && peers_[peer]->gone));
  if (!gone) return errors_.Unseen(peer);
  return MarkInDoubt(GoneError(peer, "operations were posted to a rank that is gone"));
}

void Engine::Impl::AbandonPosts(Peer& peer, uint64_t sequence) {
  size_t outstanding = 0;
  bool break_bulk = false;
  for (LaneQueue& queue : peer.queues) {
    for (uint32_t index = queue.head; index != Ledger::kNone;) {
      const uint32_t next = ledger_[index].next;
      const Slot& slot = ledger_[index];
      if (slot.sequence >= sequence) break;
      outstanding += std::max(slot.held, uint32_t{1});
      // Of held puts that are partly handed over the transport tells with the last; they hold
      // none of the caller's memory, and go on.
      const bool partly = slot.held > 0 && slot.handed_over > 0 && !slot.all_handed_over;
      if (slot.posted && !slot.late && !partly) {
        break_bulk |= HoldsCallersMemory(slot);
        GiveUp(peer, index);
      }
      index = next;
    }
  }
  if (break_bulk) transport_->Abandon(peer.rank, Lane::kBulk);
  // Recorded, since other threads lose posted operations too.
  Record(peer.rank,
         MarkInDoubt(absl::DeadlineExceededError(absl::StrCat(
             outstanding, " operations to rank ", peer.rank,
             " were not complete at the deadline of a flush; those posted are given up"))));
}

absl::Status Engine::Impl::ReportLate(Rank peer) {
  absl::Status report = Report(peer);
  if (absl::IsDeadlineExceeded(report)) return report;
  return MarkInDoubt(absl::DeadlineExceededError(
      absl::StrCat("a flush of rank ", peer, " was late, after: ", report.message())));
}

bool Engine::Impl::SettleLocked(Lock& lock, Rank peer, Deadline deadline) {
  Peer* const p = peers_[peer].get();
  if (p == nullptr) return true;
  const uint64_t sequence = p->next_sequence;
  const bool settled = Await(lock, deadline, [&] { return Flushed(*p, sequence); });
  if (!settled) AbandonPosts(*p, sequence);
  return settled;
}

void Engine::Impl::Settle(Rank peer, Deadline deadline) {
  Lock lock(mutex_);
  SettleLocked(lock, peer, deadline);
}

absl::Status Engine::Impl::Flush(Rank peer, Deadline deadline) {
  if (peer >= node_.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no rank ", peer, " in a job of ", node_.size, " ranks"));
  }
  // What this thread stored inline is part of what it flushes.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (unsettled_.load(std::memory_order_acquire) == 0 && !IsDead(peer)) {
    return absl::OkStatus();
  }
  Lock lock(mutex_);
  return SettleLocked(lock, peer, deadline) ? Report(peer) : ReportLate(peer);
}

absl::Status Engine::Impl::FlushAll(Deadline deadline) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (unsettled_.load(std::memory_order_acquire) == 0 &&
      node_.membership->dead.load(std::memory_order_acquire) == 0) {
    return absl::OkStatus();
  }
  Lock lock(mutex_);
  struct Target {
    Peer* peer;
    uint64_t sequence;
  };
  std::vector<Target> targets;
  for (Peer* peer : used_) targets.push_back({peer, peer->next_sequence});
  const auto flushed = [this](const Target& t) { return Flushed(*t.peer, t.sequence); };
  Await(lock, deadline, [&] { return std::ranges::all_of(targets, flushed); });

  std::vector<Rank> ranks = errors_.peers();
  std::vector<absl::Status> errors;
  for (const Target& target : targets) {
    ranks.push_back(target.peer->rank);
    if (flushed(target)) continue;
    AbandonPosts(*target.peer, target.sequence);
    errors.push_back(ReportLate(target.peer->rank));
  }
  // What was stored inline to a rank that has died since is not in the ledger.
  if (node_.membership->dead.load(std::memory_order_acquire) != 0) {
    for (Rank rank = 0; rank < node_.size; ++rank) {
      if (IsDead(rank)) ranks.push_back(rank);
    }
    std::erase_if(ranks, [this](Rank rank) { return node_.AcceptedDead(rank); });
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (Rank rank : ranks) {
    if (absl::Status status = Report(rank); !status.ok()) errors.push_back(std::move(status));
  }
  if (errors.empty()) return absl::OkStatus();
  std::string message(errors[0].message());
  bool in_doubt = false;
  for (const absl::Status& error : errors) {
    if (&error != &errors[0]) absl::StrAppend(&message, "; ", error.message());
    in_doubt |= IsInDoubt(error);
  }
  absl::Status all(errors[0].code(), message);
  return in_doubt ? MarkInDoubt(std::move(all)) : all;
}

}  // namespace weft
