// On which of several nodes a rank runs. Any thread.
#ifndef WEFT_RUNTIME_BASE_NODE_OF_H_
#define WEFT_RUNTIME_BASE_NODE_OF_H_

#include <cstdint>

#include "weft/rank.h"

namespace weft {

// The node of `rank` where `size` ranks are dealt out to `nodes` in blocks of equal size,
// but for one rank.
constexpr uint32_t NodeOf(Rank rank, Rank size, uint32_t nodes) {
  return static_cast<uint32_t>(uint64_t{rank} * nodes / size);
}

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_NODE_OF_H_
