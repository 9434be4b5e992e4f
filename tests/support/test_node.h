// A node's memory for tests: this process is its authority, and holds the view
// of every rank, so that ranks may be threads here or forked children. The
// authority belongs to one thread; views may be used from any, while it lives.
#ifndef WEFT_TESTS_SUPPORT_TEST_NODE_H_
#define WEFT_TESTS_SUPPORT_TEST_NODE_H_

#include <memory>
#include <vector>

#include "runtime/memory/node_memory.h"

namespace weft {

class TestNode {
 public:
  // Aborts the process, saying why, when the memory cannot be had.
  TestNode(Rank size, uint64_t slab_bytes);

  // Rank `rank`'s own mapping of the node; forked children may use it too.
  NodeView view(Rank rank) const { return memories_[rank].view(); }
  Rank size() const { return static_cast<Rank>(memories_.size()); }
  NodeAuthority& authority() { return authority_; }

 private:
  NodeAuthority authority_;
  std::vector<NodeMemory> memories_;
};

}  // namespace weft
#endif  // WEFT_TESTS_SUPPORT_TEST_NODE_H_
