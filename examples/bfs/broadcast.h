// Broadcast(world, value): rank 0's value, on all ranks.
#ifndef WEFT_EXAMPLES_BFS_BROADCAST_H_
#define WEFT_EXAMPLES_BFS_BROADCAST_H_

#include "absl/status/statusor.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace bfs {

// Collective, and a barrier. The others' `value` is not looked at.
template <typename T>
absl::StatusOr<T> Broadcast(weft::World& world, const T& value) {
  auto slot = WEFT_TRY(weft::Symmetric<T>::Create(world));
  if (world.rank() == 0) {
    for (weft::Rank rank = 0; rank < world.size(); ++rank) weft::PostPut(slot.at(rank), value);
  }
  WEFT_TRY(world.Barrier());
  return slot.mine()[0];
}

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_BROADCAST_H_
