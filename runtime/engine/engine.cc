#include "runtime/engine/engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/in_doubt.h"
#include "runtime/engine/engine_impl.h"
#include "runtime/transport/address.h"

namespace weft {
namespace {

// How often to look, a pause apart, before a wait yields.
constexpr int kSpins = 200;

}  // namespace

Engine::Impl::Impl(std::unique_ptr<Transport> transport, const NodeView& node, Directory directory,
                   const std::vector<RegisteredMemory>& registered)
    : transport_(std::move(transport)),
      caps_(transport_->caps()),
      node_(node),
      directory_(std::move(directory)),
      spins_(Oversubscribed(node.RanksHere()) ? 0 : kSpins),
      peers_(node.size) {
  for (const RegisteredMemory& memory : registered) registered_.push_back({memory, nullptr});
  if (caps_.needs_service) service_.emplace(*transport_, mutex_, [this] { return SendHeld(); });
}

Engine::Impl::~Impl() {
  service_.reset();
  for (const Peer* peer : used_) transport_->Abandon(peer->rank, Lane::kSmall);
}

bool Engine::Impl::NeedsStaging(const Request& request) const {
  if (request.length > kMaxStagedBytes) return false;
  if (!IsAtomic(request.kind) && request.length > 8) return true;
  if (!caps_.needs_registered_source || request.length == 0) return false;
  // A short put is copied by the transport; what returns something needs a place for it.
  return request.kind == Op::Kind::kPut ? request.length > caps_.max_inline
                                        : request.destination != nullptr || IsAtomic(request.kind);
}

bool Engine::Impl::Reserve(Peer& peer, uint64_t staged_bytes, uint32_t* index) {
  Usage& usage = peer.usage;
  if (ledger_.full() || usage.slots >= kLedgerCapacity / 2) return false;
  std::byte* staged = nullptr;
  if (staged_bytes > 0) {
    const bool small = staged_bytes <= StagingPool::kSmallBytes;
    uint32_t& buffers = small ? usage.small_buffers : usage.large_buffers;
    const size_t all = small ? StagingPool::kSmallBuffers : StagingPool::kLargeBuffers;
    if (buffers >= all / 2) return false;
    staged = staging_.Allocate(staged_bytes);
    if (staged == nullptr) return false;
    ++buffers;
  }
  *index = TakeSlot(peer, staged);
  return true;
}

uint32_t Engine::Impl::TakeSlot(Peer& peer, std::byte* staged) {
  ++peer.usage.slots;
  const uint32_t index = ledger_.Allocate();
  ledger_[index].staged = staged;
  UpdateUnsettled();
  return index;
}

void Engine::Impl::Fill(Slot& slot, Peer& peer, const Request& request) {
  slot.peer = peer.rank;
  slot.lane = request.length > kMaxStagedBytes ? Lane::kBulk : Lane::kSmall;
  slot.op = {.kind = request.kind,
             .ride = request.ride,
             .lane = slot.lane,
             .region = request.segment == Segment::Kind::kSlab ? &peer.slab : &peer.control,
             .offset = request.offset,
             .length = request.length,
             .operand = request.operand,
             .compare = request.compare};
  void* const standing = slot.staged != nullptr ? static_cast<void*>(slot.staged) : &slot.value;
  if (request.kind == Op::Kind::kPut) {
    if (slot.lane == Lane::kBulk) {
      slot.op.local = const_cast<void*>(request.source);  // A put only reads it.
    } else {
      if (request.length > 0) std::memcpy(standing, request.source, request.length);
      slot.op.local = standing;
    }
  } else if (slot.lane == Lane::kBulk) {
    slot.op.local = request.destination;
  } else {
    slot.destination = request.destination;
    if (request.destination != nullptr) slot.op.local = standing;
  }
  if (slot.staged != nullptr) {
    slot.op.local_key = staging_.KeyOf(slot.staged);
  } else if (slot.lane == Lane::kBulk) {
    const std::optional<uint32_t> key = LocalKey(slot.op.local, request.length);
    slot.bounced = !key.has_value();
    slot.op.local_key = key.value_or(0);
  }
  if (!CarriesOut(caps_.atomics, request.kind, request.length)) {
    slot.emulated.emplace(slot.op);
    slot.op.local = standing;  // Each step returns the word.
    ++peer.emulated;
  }
  Number(slot, peer, slot.lane);
  // A notification waits for earlier bulk transfers; on their lane, like this.
  slot.fenced |= slot.lane == Lane::kBulk && slot.op.ride != Ride::kNone;
}

void Engine::Impl::Number(Slot& slot, Peer& peer, Lane lane) {
  slot.sequence = peer.next_sequence++;
  slot.fence = peer.fence;
  slot.fenced = std::exchange(peer.fence_due[static_cast<size_t>(lane)], false);
}

absl::StatusOr<uint32_t> Engine::Impl::Issue(Lock& lock, const Request& request, bool posted,
                                             WaitLimit& limit) {
  if (absl::Status status = Check(request); !status.ok()) return status;
  Peer& peer = PeerOf(request.peer);
  if (absl::Status status = EnsureConnected(lock, peer, limit); !status.ok()) return status;
  if (absl::Status status = CheckAddress(peer, request); !status.ok()) return status;

  uint32_t index = Ledger::kNone;
  const auto reserved = [&] { return peer.gone || Reserve(peer, StagedBytes(request), &index); };
  if (!reserved() && !Await(lock, limit.StartOnce(), reserved)) {
    return absl::DeadlineExceededError(absl::StrCat("no room for one more operation to rank ",
                                                    peer.rank, ": ", ledger_.in_use(),
                                                    " are outstanding; nothing was moved"));
  }
  if (index == Ledger::kNone) return GoneError(peer.rank, "cannot start the operation");

  Enqueue(peer, index, request, posted);
  return index;
}

uint32_t Engine::Impl::TryIssue(const Request& request, bool posted) {
  uint32_t index = Ledger::kNone;
  Peer* const peer = PeerOfPlain(request);
  if (peer != nullptr && Reserve(*peer, StagedBytes(request), &index)) {
    Enqueue(*peer, index, request, posted);
  }
  return index;
}

void Engine::Impl::Enqueue(Peer& peer, uint32_t index, const Request& request, bool posted) {
  Slot& slot = ledger_[index];
  slot.posted = posted;
  Fill(slot, peer, request);
  slot.op.token = ledger_.Token(index);
  ledger_.Append(peer.queue(slot.lane), index);
  if (peer.in_backlog) return;
  if (!posted || !may_hold_ || !IsHoldable(request)) PostPeer(peer);
  if (HasUnposted(peer)) AddToBacklog(peer);
}

void Engine::Impl::AddToBacklog(Peer& peer) {
  if (!std::exchange(peer.in_backlog, true)) backlog_.push_back(&peer);
}

absl::StatusOr<Engine::Handle> Engine::Impl::Start(const Request& request, WaitLimit limit) {
  Lock lock(mutex_);
  const absl::StatusOr<uint32_t> index = Issue(lock, request, /*posted=*/false, limit);
  if (!index.ok()) return index.status();
  const Handle handle = {.slot = *index, .generation = ledger_[*index].generation};
  ProgressLocked();
  return handle;
}

bool Engine::Impl::Done(Handle handle) {
  Lock lock(mutex_);
  ProgressLocked();
  const uint32_t index = ledger_.Find(handle.slot, handle.generation);
  return index == Ledger::kNone || ledger_[index].state == Slot::State::kDone;
}

absl::Status Engine::Impl::Finish(Handle handle, Deadline deadline) {
  Lock lock(mutex_);
  const uint32_t index = ledger_.Find(handle.slot, handle.generation);
  if (index == Ledger::kNone || ledger_[index].posted || ledger_[index].late) {
    return absl::InternalError("an operation was finished twice, or never started");
  }
  WaitLimit limit = deadline;
  return FinishSlot(lock, index, limit);
}

absl::Status Engine::Impl::RunAmongOthers(Lock& lock, const Request& request, WaitLimit limit,
                                          uint32_t index) {
  if (index == Ledger::kNone) index = TryIssue(request, /*posted=*/false);
  if (index == Ledger::kNone) {
    const absl::StatusOr<uint32_t> issued = Issue(lock, request, /*posted=*/false, limit);
    if (!issued.ok()) return issued.status();
    index = *issued;
  }
  // On a soft device it is complete by now: there is no need for the clock.
  ProgressLocked();
  return FinishSlot(lock, index, limit);
}

absl::Status Engine::Impl::FinishSlot(Lock& lock, uint32_t index, WaitLimit& limit) {
  Slot& slot = ledger_[index];
  const auto done = [&] { return slot.state == Slot::State::kDone; };
  const Rank rank = slot.peer;
  if (done() || Await(lock, limit.StartOnce(), done)) {
    if (slot.end == End::kOk) CopyResult(slot);
    absl::Status status = Outcome(slot);
    Release(index);
    return status;
  }

  absl::Status status = LateError(slot);
  const bool bulk = HoldsCallersMemory(slot);
  GiveUp(PeerOf(rank), index);
  if (bulk) transport_->Abandon(rank, Lane::kBulk);
  ProgressLocked();
  return status;
}

void Engine::Impl::PostLocked(Lock& lock, const Request& request, WaitLimit limit) {
  const bool short_enough = IsHoldable(request);
  posted_ |= short_enough;
  if (TryIssue(request, /*posted=*/true) == Ledger::kNone) {
    const absl::StatusOr<uint32_t> issued = Issue(lock, request, /*posted=*/true, limit);
    if (!issued.ok()) Record(request.peer, issued.status());
  }
  if (!short_enough || !may_hold_ || ++held_ == kBurst) ProgressLocked();
}

bool Engine::Impl::IsHoldable(const Request& request) {
  return request.ride == Ride::kNone && request.length <= StagingPool::kSmallBytes;
}

bool Engine::Impl::SendHeld() {
  // Whoever is in here sends it, or this thread does the next time: on one cpu, waiting for
  // him would cost two switches.
  Lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return may_hold_ = true;  // Is looked for again, so may be held.
  // What waits for its peer to be connected, or to have room, goes on while the program computes.
  // Who sleeps is to ask again when to poll next.
  completed_ |= !backlog_.empty();
  if (held_ > 0 || !backlog_.empty()) ProgressLocked();
  may_hold_ = std::exchange(posted_, false);
  return may_hold_ || !backlog_.empty();
}

void Engine::Impl::RecordError(Rank peer, absl::Status status) {
  Lock lock(mutex_);
  Record(peer, std::move(status));
}

void Engine::Impl::Progress() {
  if ((unsettled_.load(std::memory_order_acquire) & ~kAnyError) == 0 && !caps_.needs_service) {
    return;  // Nothing can arrive.
  }
  Lock lock(mutex_);
  // A poll that finds nothing has taken in all that had arrived before; one that tells of
  // completions may not have looked.
  while (ProgressLocked()) {
  }
}

Engine::Engine(std::unique_ptr<Transport> transport, const NodeView& node, Directory directory,
               const std::vector<RegisteredMemory>& registered)
    : impl_(std::make_unique<Impl>(std::move(transport), node, std::move(directory), registered)) {}
Engine::~Engine() = default;

absl::Status Engine::ConnectAll(Deadline deadline) { return impl_->ConnectAll(deadline); }

absl::StatusOr<Engine::Handle> Engine::Start(const Request& request, WaitLimit limit) {
  return impl_->Start(request, limit);
}
bool Engine::Done(Handle handle) { return impl_->Done(handle); }
absl::Status Engine::Finish(Handle handle, Deadline deadline) {
  return impl_->Finish(handle, deadline);
}
void Engine::RecordError(Rank peer, absl::Status status) {
  impl_->RecordError(peer, std::move(status));
}
absl::Status Engine::Register(std::span<std::byte> memory) { return impl_->Register(memory); }
void Engine::Unregister(std::span<const std::byte> memory, Deadline deadline) {
  impl_->Unregister(memory, deadline);
}
void Engine::Fence(Rank peer) { impl_->Fence(peer); }
void Engine::Settle(Rank peer, Deadline deadline) { impl_->Settle(peer, deadline); }
absl::Status Engine::Flush(Rank peer, Deadline deadline) { return impl_->Flush(peer, deadline); }
absl::Status Engine::FlushAll(Deadline deadline) { return impl_->FlushAll(deadline); }
void Engine::Progress() { impl_->Progress(); }
void Engine::OnLost(std::function<void(Rank, std::string_view)> lost) {
  impl_->OnLost(std::move(lost));
}
void Engine::AbandonDead() { impl_->AbandonDead(); }
const std::atomic<uint32_t>& Engine::unsettled() const { return impl_->unsettled(); }

}  // namespace weft
