// The node's shared memory as descriptors, the form in which it is handed from
// the process that made it to the ranks; runtime/memory makes and maps them.
#ifndef WEFT_RUNTIME_BASE_NODE_FDS_H_
#define WEFT_RUNTIME_BASE_NODE_FDS_H_

#include <cstdint>

#include "runtime/base/unique_fd.h"

namespace weft {

struct NodeFds {
  UniqueFd heap;
  UniqueFd control;
  UniqueFd membership;
  // Of the job; the membership's limits cover the slabs of one, and it says where each rank is.
  uint32_t nodes = 1;
};

// What every rank of a node must ask for alike.
struct MemoryShape {
  uint64_t slab_bytes = 0;   // A multiple of the page size.
  uint64_t local_bytes = 0;  // The part of a slab that is not symmetric; likewise.
  friend bool operator==(const MemoryShape&, const MemoryShape&) = default;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_NODE_FDS_H_
