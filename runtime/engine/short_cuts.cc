// What most operations need of the Engine: those of up to some words whose callers wait, or that
// notify, to a peer that nothing else is under way to; and puts of a word that are posted, many
// at a time.
#include <cstring>

#include "runtime/engine/engine_impl.h"

namespace weft {
namespace {

// A call to copy a word takes longer than the word.
inline void CopyShort(void* to, const void* from, uint64_t length) {
  if (length == sizeof(uint64_t)) [[likely]] {
    std::memcpy(to, from, sizeof(uint64_t));
  } else {
    std::memcpy(to, from, length);
  }
}

}  // namespace

[[gnu::always_inline]] inline bool Engine::Impl::RunAlone(const Request& request, bool posted,
                                                          uint32_t* index) {
  if (request.length > StagingPool::kSmallBytes || !backlog_.empty() || ledger_.full())
    return false;
  Peer* const plain = PeerOfPlain(request);
  std::byte* const memory = staging_.NextSmall();
  if (plain == nullptr || memory == nullptr ||
      (IsAtomic(request.kind) && !CarriesOut(caps_.atomics, request.kind, request.length))) {
    return false;
  }
  Peer& peer = *plain;
  if (!peer.queue(Lane::kSmall).empty() || !peer.queue(Lane::kBulk).empty()) return false;
  const bool put = request.kind == Op::Kind::kPut;
  if (put) CopyShort(memory, request.source, request.length);
  const Op op = {.kind = request.kind,
                 .ride = request.ride,
                 .local_key = staging_.small_key(),
                 .token = ledger_.NextToken(),
                 .region = &peer.slab,
                 .offset = request.offset,
                 .local = memory,
                 .length = request.length,
                 .operand = request.operand,
                 .compare = request.compare};
  if (transport_->Post(peer.rank, {&op, 1}) == 0) return false;
  const size_t count = transport_->Poll(events_);
  if (count == 1 && events_[0].token == op.token && events_[0].result == Event::Result::kOk)
      [[likely]] {
    if (!put && request.destination != nullptr) {
      CopyShort(request.destination, memory, request.length);
    }
    return true;
  }

  *index = Admit(peer, op, put ? nullptr : request.destination);
  ledger_[*index].posted = posted;
  for (const Event& event : std::span(events_, count)) OnEvent(event);
  return false;
}

uint32_t Engine::Impl::Admit(Peer& peer, const Op& op, void* destination) {
  ++peer.usage.small_buffers;
  const uint32_t index = TakeSlot(peer, staging_.Allocate(StagingPool::kSmallBytes));
  Slot& slot = ledger_[index];
  slot.op = op;
  slot.peer = peer.rank;
  slot.destination = destination;
  Number(slot, peer, Lane::kSmall);
  slot.handed_over = op.length;
  ++slot.under_way;
  ledger_.Append(peer.queue(Lane::kSmall), index);
  StopHandingOver(peer, index);
  return index;
}

[[gnu::always_inline]] inline absl::Status Engine::Impl::Run(const Request& request,
                                                             const WaitLimit& limit) {
  mutex_.lock();
  uint32_t index = Ledger::kNone;
  if (RunAlone(request, /*posted=*/false, &index)) [[likely]] {
    mutex_.unlock();
    return absl::OkStatus();
  }
  Lock lock(mutex_, std::adopt_lock);
  return RunAmongOthers(lock, request, limit, index);
}

[[gnu::always_inline]] inline bool Engine::Impl::Hold(Rank rank, uint64_t offset,
                                                      const void* source, uint64_t length) {
  if (!may_hold_.load(std::memory_order_relaxed)) return false;
  if (rank >= node_.size || peers_[rank] == nullptr) return false;
  Peer& peer = *peers_[rank];
  HeldPuts& held = peer.held;
  if (!InBounds(offset, length, peer.slab.length) || (!held.open && !OpenHeld(peer))) return false;
  Slot& slot = *held.slot;
  if (slot.held == kBurst) return false;
  std::byte* const value = slot.staged + slot.held * kShortBytes;
  CopyShort(value, source, length);
  Op& op = held.ops[slot.held++];
  op.local_key = staging_.small_key();
  op.offset = offset;
  op.local = value;
  op.length = length;
  posted_ = true;
  if (++held_ == kBurst) ProgressLocked();
  return true;
}

[[gnu::always_inline]] inline void Engine::Impl::PostShort(Rank peer, uint64_t offset,
                                                           const void* source, uint64_t length,
                                                           const WaitLimit& limit) {
  Lock lock(mutex_);
  if (Hold(peer, offset, source, length)) return;
  PostLocked(lock, {.peer = peer, .offset = offset, .source = source, .length = length}, limit);
}

void Engine::Impl::Post(const Request& request, const WaitLimit& limit) {
  if (request.kind == Op::Kind::kPut && request.ride == Ride::kNone &&
      request.segment == Segment::Kind::kSlab && request.source != nullptr && request.length > 0 &&
      request.length <= kShortBytes) {
    return PostShort(request.peer, request.offset, request.source, request.length, limit);
  }
  Lock lock(mutex_);
  uint32_t index = Ledger::kNone;
  if (!IsHoldable(request) && RunAlone(request, /*posted=*/true, &index)) return;
  if (index != Ledger::kNone) {
    ProgressLocked();
  } else {
    PostLocked(lock, request, limit);
  }
}

bool Engine::Impl::OpenHeld(Peer& peer) {
  static_assert(kBurst * kShortBytes <= StagingPool::kSmallBytes);
  HeldPuts& held = peer.held;
  uint32_t index;
  if (staging_.NextSmall() == nullptr || held.slot != nullptr ||
      peer.state != Peer::State::kConnected || peer.gone || IsDead(peer.rank) ||
      !Reserve(peer, StagingPool::kSmallBytes, &index)) {
    return false;
  }
  held.slot = &ledger_[index];
  held.open = true;
  held.slot->peer = peer.rank;
  held.slot->posted = true;
  Number(*held.slot, peer, Lane::kSmall);
  ledger_.Append(peer.queue(Lane::kSmall), index);
  AddToBacklog(peer);
  return true;
}

bool Engine::Impl::PostHeld(Peer& peer, uint32_t index) {
  Slot& slot = ledger_[index];
  const std::span<Op> ops = std::span(peer.held.ops).first(slot.held).subspan(slot.handed_over);
  ops.front().fenced = slot.fenced && slot.handed_over == 0;
  ops.back().token = ledger_.Token(index);
  slot.handed_over += transport_->Post(peer.rank, ops);
  if (slot.handed_over > 0) peer.held.open = false;
  ops.back().token = 0;
  if (slot.handed_over < slot.held) return false;
  ++slot.under_way;
  StopHandingOver(peer, index);
  return true;
}

absl::Status Engine::Run(const Request& request, const WaitLimit& limit) {
  return impl_->Run(request, limit);
}
void Engine::Post(const Request& request, const WaitLimit& limit) { impl_->Post(request, limit); }
void Engine::PostShort(Rank peer, uint64_t offset, const void* source, uint64_t length,
                       const WaitLimit& limit) {
  impl_->PostShort(peer, offset, source, length, limit);
}

}  // namespace weft
