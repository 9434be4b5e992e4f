// The ledger of an Engine's operations: one slot each, from Start until nobody
// needs it, and for each peer and lane a queue of the unfinished ones in the
// order of their issue. An operation's token names its slot and the slot's
// generation, so that a token that comes back late, or twice, finds nothing.
//
// Owns the slots; they never move. Not thread-safe: guarded by the Engine's lock. All of it is
// inline: every operation comes here some six times.
#ifndef WEFT_RUNTIME_ENGINE_LEDGER_H_
#define WEFT_RUNTIME_ENGINE_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/engine/emulated_atomics.h"
#include "runtime/transport/transport.h"

namespace weft {

// How an operation ended.
enum class End : uint8_t {
  kOk,
  kNeverStarted,  // Its peer was gone before anything of it was posted.
  kCutOff,        // Its peer, or its lane, went while it was under way: in doubt.
  kBadAddress,
  kInternal,
};

struct Slot {
  enum class State : uint8_t { kFree, kUnfinished, kDone };

  explicit Slot(uint32_t g = 1) : generation(g) {}

  // As the transport gets it, but for `fenced` and, of a long one, the pieces.
  Op op;

  uint32_t generation;
  Rank peer = 0;
  State state = State::kFree;
  Lane lane = Lane::kSmall;
  bool posted = false;  // Ends at Flush; nobody calls Finish for it.
  bool late = false;    // Its caller was told that it is late: it only ends.
  bool fenced = false;  // The first of its lane after a fence.
  End end = End::kOk;

  uint64_t sequence = 0;     // Counts the operations to its peer.
  uint64_t fence = 0;        // Starts after all those with a lower sequence.
  uint64_t handed_over = 0;  // Bytes that the transport has accepted.
  uint32_t under_way = 0;    // Pieces whose events are yet to come.
  bool all_handed_over = false;
  bool bounced = false;  // Its memory is not registered: its pieces have slots of their own.
  // Posted puts that it stands for, of which `op` is the first, and `handed_over` counts those
  // that the transport has accepted; 0: it is an operation of its own. See HeldPuts.
  uint32_t held = 0;

  // How an atomic that the transport lacks goes on; see runtime/engine/emulated_atomics.h.
  std::optional<EmulatedAtomic> emulated;

  // Of a piece of an operation whose memory is not registered: that operation's slot. The
  // piece's memory is `staged`, and its place in the operation's `destination`.
  uint32_t whole = UINT32_MAX;

  void* destination = nullptr;  // Where the result goes once it is there; the caller's.
  std::byte* staged = nullptr;  // Buffer of the staging pool that stands for the caller's.
  uint64_t value = 0;           // Stands for it when it is at most 8 bytes long.

  uint32_t next = 0;  // In its queue, or in the free list.
  uint32_t previous = 0;
};

// Whether the transport moves data from or to the caller's memory for it: its lane must be
// abandoned to end that. What is bounced moves ours, and may go on.
inline bool HoldsCallersMemory(const Slot& slot) {
  return slot.lane == Lane::kBulk && slot.under_way > 0 && !slot.bounced;
}

// The unfinished operations to one peer on one lane, in the order of issue.
struct LaneQueue {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t head = kNone;
  uint32_t tail = kNone;
  uint32_t to_post = kNone;  // The first that is not wholly handed over.

  bool empty() const { return head == kNone; }
};

class Ledger {
 public:
  static constexpr uint32_t kNone = LaneQueue::kNone;

  explicit Ledger(uint32_t capacity) : capacity_(capacity) { slots_.reserve(capacity); }

  bool full() const { return in_use_ == capacity_; }
  uint32_t in_use() const { return in_use_; }
  // All that there have been at a time, in use or not.
  uint32_t slots() const { return static_cast<uint32_t>(slots_.size()); }

  Slot& operator[](uint32_t index) { return slots_[index]; }

  // A slot with nothing in it but its generation. The ledger must not be full.
  uint32_t Allocate() {
    const uint32_t index = Next();
    free_ = slots_[index].next;
    std::construct_at(&slots_[index], slots_[index].generation);
    slots_[index].state = Slot::State::kUnfinished;
    ++in_use_;
    return index;
  }
  // The token of the slot that Allocate will return. The ledger must not be full.
  uint64_t NextToken() { return Token(Next()); }
  // The slot must be in no queue. Its token and handles find nothing any more.
  void Free(uint32_t index) {
    Slot& slot = slots_[index];
    slot.state = Slot::State::kFree;
    if (++slot.generation == 0) slot.generation = 1;  // A token is never 0.
    slot.next = free_;
    free_ = index;
    --in_use_;
  }

  // The slot in use of that generation, or kNone.
  uint32_t Find(uint32_t index, uint32_t generation) const {
    if (index >= slots_.size()) return kNone;
    const Slot& slot = slots_[index];
    return slot.state != Slot::State::kFree && slot.generation == generation ? index : kNone;
  }

  uint64_t Token(uint32_t index) const { return uint64_t{slots_[index].generation} << 32 | index; }
  uint32_t FindToken(uint64_t token) const {
    return Find(static_cast<uint32_t>(token), static_cast<uint32_t>(token >> 32));
  }

  void Append(LaneQueue& queue, uint32_t index) {
    Slot& slot = slots_[index];
    slot.previous = queue.tail;
    slot.next = kNone;
    (queue.tail == kNone ? queue.head : slots_[queue.tail].next) = index;
    queue.tail = index;
    if (queue.to_post == kNone) queue.to_post = index;
  }
  void Remove(LaneQueue& queue, uint32_t index) {
    const Slot& slot = slots_[index];
    (slot.previous == kNone ? queue.head : slots_[slot.previous].next) = slot.next;
    (slot.next == kNone ? queue.tail : slots_[slot.next].previous) = slot.previous;
    if (queue.to_post == index) queue.to_post = NextToPost(slot.next);
  }

  // The next to hand over, from `index` on.
  uint32_t NextToPost(uint32_t index) const {
    while (index != kNone && slots_[index].all_handed_over) index = slots_[index].next;
    return index;
  }

  // The sequence of the oldest unfinished operation; UINT64_MAX if there is none.
  uint64_t Oldest(const LaneQueue& queue) const {
    return queue.empty() ? UINT64_MAX : slots_[queue.head].sequence;
  }

 private:
  // The first that is free.
  uint32_t Next() {
    if (free_ == kNone) {
      free_ = slots();
      slots_.emplace_back().next = kNone;
    }
    return free_;
  }

  const uint32_t capacity_;
  uint32_t in_use_ = 0;
  uint32_t free_ = kNone;
  std::vector<Slot> slots_;  // Grows to the capacity as needed, and so never moves.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_ENGINE_LEDGER_H_
