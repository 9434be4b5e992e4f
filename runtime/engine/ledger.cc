#include "runtime/engine/ledger.h"

namespace weft {

uint32_t Ledger::Allocate() {
  uint32_t index = free_;
  if (index == kNone) {
    index = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    free_ = slots_[index].next;
    const uint32_t generation = slots_[index].generation;
    slots_[index] = Slot{};
    slots_[index].generation = generation;
  }
  slots_[index].state = Slot::State::kUnfinished;
  ++in_use_;
  return index;
}

void Ledger::Free(uint32_t index) {
  Slot& slot = slots_[index];
  slot.state = Slot::State::kFree;
  if (++slot.generation == 0) slot.generation = 1;  // A token is never 0.
  slot.next = free_;
  free_ = index;
  --in_use_;
}

uint32_t Ledger::Find(uint32_t index, uint32_t generation) const {
  if (index >= slots_.size()) return kNone;
  const Slot& slot = slots_[index];
  return slot.state != Slot::State::kFree && slot.generation == generation ? index : kNone;
}

void Ledger::Append(LaneQueue& queue, uint32_t index) {
  Slot& slot = slots_[index];
  slot.previous = queue.tail;
  slot.next = kNone;
  (queue.tail == kNone ? queue.head : slots_[queue.tail].next) = index;
  queue.tail = index;
  if (queue.to_post == kNone) queue.to_post = index;
}

void Ledger::Remove(LaneQueue& queue, uint32_t index) {
  const Slot& slot = slots_[index];
  (slot.previous == kNone ? queue.head : slots_[slot.previous].next) = slot.next;
  (slot.next == kNone ? queue.tail : slots_[slot.next].previous) = slot.previous;
  if (queue.to_post == index) queue.to_post = NextToPost(slot.next);
}

}  // namespace weft
