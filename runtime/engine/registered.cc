// Memory of this process that the transport has registered: what lies in it moves straight.
#include <algorithm>
#include <utility>

#include "runtime/engine/engine_impl.h"
#include "runtime/transport/address.h"

namespace weft {
namespace {

// Whether `slot` is still to read or write some of `memory`, the caller's.
bool Uses(const Slot& slot, std::span<const std::byte> memory) {
  const bool bulk = slot.lane == Lane::kBulk;
  if (bulk && slot.bounced) return false;  // Then it does not lie in registered memory.
  const auto* const at = static_cast<const std::byte*>(bulk ? slot.op.local : slot.destination);
  return at != nullptr && at < memory.data() + memory.size() && memory.data() < at + slot.op.length;
}

}  // namespace

absl::Status Engine::Impl::Register(std::span<std::byte> memory) {
  if (!caps_.needs_registered_source || memory.empty()) return absl::OkStatus();
  auto registration = transport_->Register({.kind = Segment::Kind::kLocal, .bytes = memory});
  if (!registration.ok()) return registration.status();
  Lock lock(mutex_);
  const uint32_t key = (*registration)->local_key();
  registered_.push_back({{.bytes = memory, .local_key = key}, *std::move(registration)});
  return absl::OkStatus();
}

void Engine::Impl::Unregister(std::span<const std::byte> memory, Deadline deadline) {
  Lock lock(mutex_);
  const auto under_way = [&](uint32_t index) {
    return ledger_[index].state == Slot::State::kUnfinished && Uses(ledger_[index], memory);
  };
  const auto unused = [&] {
    for (uint32_t index = 0; index < ledger_.slots(); ++index) {
      if (under_way(index)) return false;
    }
    return true;
  };
  if (!Await(lock, deadline, unused)) {
    for (uint32_t index = 0; index < ledger_.slots(); ++index) {
      if (under_way(index)) CutOff(index);
    }
    ProgressLocked();
  }
  // Those that are over, and whose results nobody has asked for yet.
  for (uint32_t index = 0; index < ledger_.slots(); ++index) {
    Slot& slot = ledger_[index];
    if (slot.state != Slot::State::kDone || slot.lane == Lane::kBulk || !Uses(slot, memory)) {
      continue;
    }
    if (slot.end == End::kOk) CopyResult(slot);
    slot.destination = nullptr;
  }
  const auto found = std::ranges::find_if(registered_, [&](const Registered& registered) {
    return registered.memory.bytes.data() == memory.data();
  });
  if (found == registered_.end()) return;
  // Ends without the lock: to unpin takes long.
  const Registered last = std::move(*found);
  registered_.erase(found);
  lock.unlock();
}

void Engine::Impl::CutOff(uint32_t index) {
  Slot& slot = ledger_[index];
  Peer& peer = *peers_[slot.peer];
  if (slot.lane == Lane::kSmall) {
    slot.destination = nullptr;  // It moves runtime memory.
    return;
  }
  const bool moves = HoldsCallersMemory(slot);
  if (!slot.all_handed_over) EndEarly(peer, index, End::kCutOff);
  // What is under way ends with its lane.
  if (moves) transport_->Abandon(peer.rank, Lane::kBulk);
}

std::optional<uint32_t> Engine::Impl::LocalKey(const void* memory, uint64_t length) const {
  if (!caps_.needs_registered_source) return 0;
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  for (const auto& [known, registration] : registered_) {
    const auto base = reinterpret_cast<uintptr_t>(known.bytes.data());
    if (begin >= base && InBounds(begin - base, length, known.bytes.size())) {
      return known.local_key;
    }
  }
  return std::nullopt;
}

}  // namespace weft
