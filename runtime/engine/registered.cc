// Memory of this process that the transport has registered: what lies in it moves straight.
#include <algorithm>
#include <utility>

#include "runtime/engine/engine_impl.h"
#include "runtime/transport/address.h"

namespace weft {
namespace {

bool Overlaps(const Slot& slot, std::span<const std::byte> memory) {
  const auto* const at = static_cast<const std::byte*>(slot.op.local);
  return slot.lane == Lane::kBulk && !slot.bounced && at < memory.data() + memory.size() &&
         memory.data() < at + slot.op.length;
}

}  // namespace

absl::Status Engine::Impl::Register(std::span<std::byte> memory) {
  if (!transport_->caps().needs_registered_source || memory.empty()) return absl::OkStatus();
  // Takes milliseconds, so the lock is held as long as nobody can be spared: a transport
  // is called by one thread at a time.
  Lock lock(mutex_);
  auto registration = transport_->Register({.kind = Segment::Kind::kLocal, .bytes = memory});
  if (!registration.ok()) return registration.status();
  const uint32_t key = (*registration)->local_key();
  registered_.push_back({.bytes = memory, .local_key = key});
  registrations_.emplace(memory.data(), *std::move(registration));
  return absl::OkStatus();
}

void Engine::Impl::Unregister(std::span<const std::byte> memory, Deadline deadline) {
  Lock lock(mutex_);
  const auto in_use = [&](Peer& peer) {
    uint32_t index = peer.queue(Lane::kBulk).head;
    while (index != Ledger::kNone && !Overlaps(ledger_[index], memory)) {
      index = ledger_[index].next;
    }
    return index != Ledger::kNone;
  };
  const auto unused = [&] {
    return std::ranges::none_of(used_, [&](Peer* peer) { return in_use(*peer); });
  };
  if (!Await(lock, deadline, unused)) {
    for (Peer* peer : used_) {
      if (in_use(*peer)) CutOffBulk(*peer, memory);
    }
    ProgressLocked();
  }
  std::erase_if(registered_, [&](const RegisteredMemory& registered) {
    return registered.bytes.data() == memory.data();
  });
  registrations_.erase(memory.data());
}

void Engine::Impl::CutOffBulk(Peer& peer, std::span<const std::byte> memory) {
  for (uint32_t index = peer.queue(Lane::kBulk).head; index != Ledger::kNone;) {
    const uint32_t next = ledger_[index].next;
    Slot& slot = ledger_[index];
    if (Overlaps(slot, memory) && !slot.all_handed_over) {
      if (slot.end == End::kOk) slot.end = End::kCutOff;
      StopHandingOver(peer, index);
      if (slot.under_way == 0) Complete(peer, index);
    }
    index = next;
  }
  // What is under way ends with its lane.
  transport_->Abandon(peer.rank, Lane::kBulk);
}

std::optional<uint32_t> Engine::Impl::LocalKey(const void* memory, uint64_t length) const {
  if (!transport_->caps().needs_registered_source) return 0;
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  for (const RegisteredMemory& registered : registered_) {
    const auto base = reinterpret_cast<uintptr_t>(registered.bytes.data());
    if (begin >= base && InBounds(begin - base, length, registered.bytes.size())) {
      return registered.local_key;
    }
  }
  return std::nullopt;
}

}  // namespace weft
