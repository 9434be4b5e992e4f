// One process's view of its node's shared memory: plain pointers, copied freely,
// valid as long as the NodeMemory (runtime/memory) that made it.
#ifndef WEFT_RUNTIME_BASE_NODE_VIEW_H_
#define WEFT_RUNTIME_BASE_NODE_VIEW_H_

#include <cstddef>

#include "runtime/base/control_layout.h"

namespace weft {

struct NodeView {
  Rank rank = 0;  // Whose view this is.
  Rank size = 0;
  std::byte* heap = nullptr;          // Slabs of all ranks, one after the other.
  size_t slab_bytes = 0;              // The size and the stride of a slab.
  std::byte* control_base = nullptr;  // Control regions, kControlBytes apart.
  const Membership* membership = nullptr;
  // Of the process that has this view: deaths up to this epoch are known to its program, and fail
  // only calls that name the rank. Null: none are.
  const std::atomic<uint32_t>* accepted_epoch = nullptr;

  // Whether `r` is dead, and in a dead set that the program has accepted.
  bool AcceptedDead(Rank r) const {
    if (accepted_epoch == nullptr) return false;
    const uint32_t since = membership->dead_since[r].load(std::memory_order_acquire);
    return since != 0 && since <= accepted_epoch->load(std::memory_order_acquire);
  }
  // How many ranks share this node's cpus.
  Rank RanksHere() const {
    const uint16_t here = membership->node[rank].load(std::memory_order_relaxed);
    Rank count = 0;
    for (Rank r = 0; r < size; ++r) {
      count += membership->node[r].load(std::memory_order_relaxed) == here ? 1 : 0;
    }
    return count;
  }
  std::byte* slab(Rank r) const { return heap + r * slab_bytes; }
  ControlRegion& control(Rank r) const {
    return *reinterpret_cast<ControlRegion*>(control_base + r * kControlBytes);
  }
};

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_NODE_VIEW_H_
