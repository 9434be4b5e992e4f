// How operations move: handing them over to the transport, taking in what it
// reports, ending those of a peer that is gone, and waiting.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/doorbell.h"
#include "runtime/base/in_doubt.h"
#include "runtime/base/wait_failure.h"
#include "runtime/engine/engine_impl.h"

namespace weft {
namespace {

// Between two polls while the transport says that it has something.
constexpr absl::Duration kPollPause = absl::Microseconds(10);

End EndOf(Event::Result result) {
  switch (result) {
    case Event::Result::kOk:
      return End::kOk;
    case Event::Result::kPeerDown:
      return End::kCutOff;
    case Event::Result::kBadAddress:
      return End::kBadAddress;
    case Event::Result::kInternal:
      break;
  }
  return End::kInternal;
}

// What the last step of an emulated atomic returned.
uint64_t WordOf(const Slot& slot) {
  uint64_t word;
  std::memcpy(&word, slot.op.local, sizeof(word));
  return word;
}

// The next piece of `slot`, of which `handed_over` bytes are already gone.
Op NextPiece(const Slot& slot, uint64_t handed_over, uint64_t max_length) {
  Op piece = slot.op;
  piece.fenced = slot.fenced && handed_over == 0;
  if (slot.op.length <= max_length) return piece;
  piece.length = std::min(max_length, slot.op.length - handed_over);
  piece.offset += handed_over;
  piece.local = static_cast<std::byte*>(piece.local) + handed_over;
  if (piece.ride != Ride::kNone) {
    // It follows all the data: goes with the last piece, behind the others.
    const bool last = handed_over + piece.length == slot.op.length;
    if (last) {
      piece.fenced = true;
    } else {
      piece.ride = Ride::kNone;
    }
  }
  return piece;
}

}  // namespace

bool Engine::Impl::Await(Lock& lock, Deadline deadline, absl::FunctionRef<bool()> ready) {
  for (;;) {
    ProgressLocked();
    if (ready()) return true;
    if (deadline.Expired()) return false;
    // The transport must be polled again by then in any case.
    const Deadline step = std::min(deadline, NextPoll());
    bool is_ready = false;
    // Leaves the lock held when it returns true: ready, or to be polled earlier
    // than `step`, because more has been handed over.
    const auto look = [&] {
      lock.lock();
      ProgressLocked();
      is_ready = ready();
      if (is_ready || NextPoll() < step) return true;
      lock.unlock();
      return false;
    };
    const uint32_t seen_changes = seen_changes_;
    lock.unlock();
    waiter_.Wait(look, node_.control(node_.rank).doorbell, *node_.membership, seen_changes, step,
                 {.spins = spins_});
    if (!lock.owns_lock()) lock.lock();
    if (is_ready) return true;
  }
}

Deadline Engine::Impl::NextPoll() {
  const Armed armed = transport_->Arm();
  return armed.ready ? std::min(armed.at, Deadline::After(kPollPause)) : armed.at;
}

bool Engine::Impl::ProgressLocked() {
  if (node_.membership->changes.load(std::memory_order_acquire) != seen_changes_) {
    OnMembershipChange();
  }
  // Ends with a Post that was refused after the last Poll, so that the transport
  // knows that it has somebody to tell when there is room.
  held_ = 0;
  bool told;
  do {
    told = PollEvents();
  } while (!backlog_.empty() && PostBacklog());
  if (!completed_) return told;
  completed_ = false;
  // Orders what is complete before the look at the bell: its sleepers look under
  // the mutex, after they armed it.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Ring(node_.control(node_.rank).doorbell);
  return told;
}

bool Engine::Impl::PostBacklog() {
  bool any = false;
  std::erase_if(backlog_, [&](Peer* peer) {
    any |= PostPeer(*peer);
    peer->in_backlog = HasUnposted(*peer);
    return !peer->in_backlog;
  });
  return any;
}

bool Engine::Impl::HasUnposted(Peer& peer) {
  return peer.queue(Lane::kSmall).to_post != Ledger::kNone ||
         peer.queue(Lane::kBulk).to_post != Ledger::kNone;
}

bool Engine::Impl::PostPeer(Peer& peer) {
  if (peer.state != Peer::State::kConnected) return false;
  bool any = false;
  for (Lane lane : {Lane::kSmall, Lane::kBulk}) {
    if (peer.queue(lane).to_post != Ledger::kNone) any |= PostLane(peer, lane);
  }
  return any;
}

bool Engine::Impl::PostLane(Peer& peer, Lane lane) {
  LaneQueue& queue = peer.queue(lane);
  const uint64_t max_length = caps_.max_length;
  bool any = false;
  // One that is alone and whole, as most are, is handed over from where it is.
  if (Slot& slot = ledger_[queue.to_post]; slot.next == Ledger::kNone && slot.handed_over == 0 &&
                                           slot.held == 0 && slot.op.length <= max_length &&
                                           !slot.bounced) {
    slot.op.fenced = slot.fenced;
    if (!MayStart(peer, lane, slot) || transport_->Post(peer.rank, {&slot.op, 1}) == 0)
      return false;
    ++slot.under_way;
    slot.handed_over = slot.op.length;
    StopHandingOver(peer, queue.to_post);
    return true;
  }
  while (queue.to_post != Ledger::kNone) {
    if (Slot& slot = ledger_[queue.to_post]; slot.held > 0) {
      const uint64_t before = slot.handed_over;
      const bool all = MayStart(peer, lane, slot) && PostHeld(peer, queue.to_post);
      any |= slot.handed_over > before;
      if (!all) break;
      continue;
    }
    uint32_t owner[kBurst];
    size_t count = 0;
    uint32_t index = queue.to_post;
    uint64_t handed_over = ledger_[index].handed_over;
    while (count < kBurst && index != Ledger::kNone && ledger_[index].held == 0 &&
           MayStart(peer, lane, ledger_[index])) {
      const Slot& slot = ledger_[index];
      burst_[count] = NextPiece(
          slot, handed_over,
          slot.bounced ? std::min<uint64_t>(StagingPool::kBounceBytes, max_length) : max_length);
      if (slot.bounced && !Bounce(peer, index, burst_[count])) break;
      owner[count] = index;
      handed_over += burst_[count++].length;
      if (handed_over == slot.op.length) {
        index = ledger_.NextToPost(slot.next);
        handed_over = index == Ledger::kNone ? 0 : ledger_[index].handed_over;
      }
    }
    if (count == 0) break;

    const size_t accepted = transport_->Post(peer.rank, {burst_, count});
    for (size_t i = accepted; i < count; ++i) {
      if (ledger_[owner[i]].bounced) FreePiece(ledger_.FindToken(burst_[i].token));
    }
    for (size_t i = 0; i < accepted; ++i) {
      Slot& slot = ledger_[owner[i]];
      ++slot.under_way;
      slot.handed_over += burst_[i].length;
      if (slot.handed_over == slot.op.length) StopHandingOver(peer, owner[i]);
    }
    any |= accepted > 0;
    if (accepted < count) break;
  }
  return any;
}

// Within its lane the transport keeps the order that a fence asks for; what
// the other lane does is waited for here.
bool Engine::Impl::MayStart(Peer& peer, Lane lane, const Slot& slot) {
  const Lane other = lane == Lane::kSmall ? Lane::kBulk : Lane::kSmall;
  if (ledger_.Oldest(peer.queue(other)) < slot.fence) return false;
  // The steps of an emulated atomic are posted one after the other, past a fence.
  if (slot.fence > 0 && OldestEmulated(peer) < slot.fence) return false;
  return slot.op.ride == Ride::kNone || lane == Lane::kBulk ||
         ledger_.Oldest(peer.queue(Lane::kBulk)) > slot.sequence;
}

uint64_t Engine::Impl::OldestEmulated(Peer& peer) {
  if (peer.emulated == 0) return UINT64_MAX;
  uint32_t index = peer.queue(Lane::kSmall).head;
  while (index != Ledger::kNone && !ledger_[index].emulated) index = ledger_[index].next;
  return index == Ledger::kNone ? UINT64_MAX : ledger_[index].sequence;
}

bool Engine::Impl::Bounce(Peer& peer, uint32_t whole, Op& piece) {
  if (ledger_.full() || peer.usage.bounce_buffers >= StagingPool::kBounceBuffers / 2) return false;
  std::byte* const buffer = staging_.AllocateBounce();
  if (buffer == nullptr) return false;
  ++peer.usage.bounce_buffers;
  const uint32_t index = ledger_.Allocate();
  Slot& slot = ledger_[index];
  slot.peer = peer.rank;
  slot.whole = whole;
  slot.staged = buffer;
  if (piece.kind == Op::Kind::kPut) {
    std::memcpy(buffer, piece.local, piece.length);
  } else {
    slot.destination = piece.local;
  }
  piece.local = buffer;
  piece.local_key = staging_.KeyOf(buffer);
  piece.token = ledger_.Token(index);
  slot.op = piece;
  return true;
}

void Engine::Impl::FreePiece(uint32_t index) {
  --peers_[ledger_[index].peer]->usage.bounce_buffers;
  staging_.Free(ledger_[index].staged);
  ledger_.Free(index);
  UpdateUnsettled();
}

uint32_t Engine::Impl::EndPiece(uint32_t index, Event::Result result) {
  const Slot& piece = ledger_[index];
  const uint32_t whole = piece.whole;
  // The caller's memory is ours until its operation is over, or given up.
  if (result == Event::Result::kOk && piece.destination != nullptr && !ledger_[whole].late) {
    std::memcpy(piece.destination, piece.staged, piece.op.length);
  }
  FreePiece(index);
  return whole;
}

bool Engine::Impl::PollEvents() {
  size_t count;
  do {
    count = transport_->Poll(events_);
    for (const Event& event : std::span(events_, count)) OnEvent(event);
  } while (count == kEvents);
  return count > 0;
}

void Engine::Impl::OnEvent(const Event& event) {
  if (event.kind == Event::Kind::kCompleted) return OnCompleted(event);
  Peer& peer = PeerOf(event.peer);
  if (event.kind == Event::Kind::kPeerDown) {
    PeerGone(peer);
  } else if (peer.state == Peer::State::kConnecting) {
    peer.state = Peer::State::kConnected;
  }
}

void Engine::Impl::OnCompleted(const Event& event) {
  uint32_t index = ledger_.FindToken(event.token);
  if (index == Ledger::kNone) return;
  if (ledger_[index].whole != Ledger::kNone) index = EndPiece(index, event.result);
  Slot& slot = ledger_[index];
  if (slot.state != Slot::State::kUnfinished || slot.under_way == 0) return;
  Peer& peer = PeerOf(event.peer);
  // The small lane goes only with its peer; and a death that the transport has
  // noticed before the next look at the membership is that peer's death.
  if (event.result == Event::Result::kPeerDown &&
      (slot.lane == Lane::kSmall || IsDead(peer.rank))) {
    PeerGone(peer);  // Leaves this operation alone, for a piece of it is under way.
  }
  --slot.under_way;
  if (event.result != Event::Result::kOk) {
    if (slot.end == End::kOk) slot.end = EndOf(event.result);
    StopHandingOver(peer, index);
  }
  if (slot.emulated && slot.end == End::kOk && !slot.late &&
      !slot.emulated->Advance(WordOf(slot), slot.op)) {
    if (!peer.gone) {
      HandOverAgain(peer, index);
      return;
    }
    slot.end = End::kNeverStarted;  // No step has changed anything.
  }
  if (slot.all_handed_over && slot.under_way == 0) Complete(peer, index);
}

void Engine::Impl::HandOverAgain(Peer& peer, uint32_t index) {
  Slot& slot = ledger_[index];
  slot.handed_over = 0;
  slot.all_handed_over = false;
  LaneQueue& queue = peer.queue(slot.lane);
  if (queue.to_post == Ledger::kNone || ledger_[queue.to_post].sequence > slot.sequence) {
    queue.to_post = index;
  }
  AddToBacklog(peer);
}

void Engine::Impl::OnMembershipChange() {
  // Before the states, so that a later change is noticed the next time.
  seen_changes_ = node_.membership->changes.load(std::memory_order_acquire);
  for (Peer* peer : used_) {
    if (IsDead(peer->rank)) PeerGone(*peer);
  }
}

void Engine::Impl::AbandonDead() {
  Lock lock(mutex_);
  OnMembershipChange();
  // It may have connected to this rank all the same.
  for (Rank rank = 0; rank < node_.size; ++rank) {
    if (IsDead(rank) && peers_[rank] == nullptr) transport_->Abandon(rank, Lane::kSmall);
  }
}

void Engine::Impl::PeerGone(Peer& peer) {
  if (std::exchange(peer.gone, true)) return;
  if (lost_ != nullptr && !IsDead(peer.rank)) lost_(peer.rank, transport_->WhyLost(peer.rank));
  transport_->Abandon(peer.rank, Lane::kSmall);
  any_error_ = true;  // Flush has something to report.
  UpdateUnsettled();
  completed_ = true;  // Whoever waits to connect to it, or for room, looks again.
  for (LaneQueue& queue : peer.queues) {
    for (uint32_t index = queue.head; index != Ledger::kNone;) {
      const uint32_t next = ledger_[index].next;
      Slot& slot = ledger_[index];
      if (!slot.all_handed_over) {
        const bool untouched = slot.under_way == 0 && slot.handed_over == 0;
        EndEarly(peer, index, untouched ? End::kNeverStarted : End::kCutOff);
      }
      index = next;
    }
  }
}

void Engine::Impl::StopHandingOver(Peer& peer, uint32_t index) {
  Slot& slot = ledger_[index];
  slot.all_handed_over = true;
  if (peer.held.slot == &slot) {
    slot.op = peer.held.ops[0];
    peer.held.slot = nullptr;
    peer.held.open = false;
  }
  LaneQueue& queue = peer.queue(slot.lane);
  if (queue.to_post == index) queue.to_post = ledger_.NextToPost(slot.next);
}

void Engine::Impl::EndEarly(Peer& peer, uint32_t index, End end) {
  Slot& slot = ledger_[index];
  if (slot.end == End::kOk) slot.end = end;
  StopHandingOver(peer, index);
  if (slot.under_way == 0) Complete(peer, index);
}

void Engine::Impl::Complete(Peer& peer, uint32_t index) {
  Slot& slot = ledger_[index];
  ledger_.Remove(peer.queue(slot.lane), index);
  slot.state = Slot::State::kDone;
  if (slot.emulated) --peer.emulated;
  completed_ = true;
  if (!slot.posted && !slot.late) return;  // Finish does the rest.
  if (!slot.late) {
    if (slot.end == End::kOk) {
      CopyResult(slot);
    } else {
      Record(peer.rank, Outcome(slot));
    }
  }
  Release(index);
}

void Engine::Impl::GiveUp(Peer& peer, uint32_t index) {
  Slot& slot = ledger_[index];
  slot.late = true;
  slot.destination = nullptr;
  StopHandingOver(peer, index);
  if (slot.under_way == 0) Complete(peer, index);
}

void Engine::Impl::CopyResult(const Slot& slot) {
  if (slot.destination == nullptr || slot.op.length == 0) return;
  const void* result = slot.staged != nullptr ? static_cast<const void*>(slot.staged) : &slot.value;
  const uint64_t old = slot.emulated ? slot.emulated->old() : 0;
  std::memcpy(slot.destination, slot.emulated ? &old : result, slot.op.length);
}

void Engine::Impl::Release(uint32_t index) {
  const Slot& slot = ledger_[index];
  Usage& usage = peers_[slot.peer]->usage;
  --usage.slots;
  if (slot.staged != nullptr) {
    --(slot.op.length <= StagingPool::kSmallBytes ? usage.small_buffers : usage.large_buffers);
    staging_.Free(slot.staged);
  }
  ledger_.Free(index);
  completed_ = true;  // There is room.
  UpdateUnsettled();
}

void Engine::Impl::Record(Rank peer, absl::Status status) {
  errors_.Record(peer, std::move(status));
  any_error_ = true;
  UpdateUnsettled();
}

void Engine::Impl::UpdateUnsettled() {
  unsettled_.store(ledger_.in_use() | (any_error_ ? kAnyError : 0), std::memory_order_release);
}

absl::Status Engine::Impl::GoneError(Rank peer, std::string_view what) const {
  if (IsDead(peer)) return LostRankError(*node_.membership, peer, what);
  const std::string_view name = caps_.name;
  const std::string why = transport_->WhyLost(peer);
  return absl::UnavailableError(
      absl::StrCat(std::string(what), ": rank ", peer, " cannot be reached any more: the ",
                   std::string(name), " transport has lost it", why.empty() ? "" : ": ", why));
}

}  // namespace weft
