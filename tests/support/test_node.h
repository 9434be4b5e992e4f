// A node's memory for tests: this process is its authority, and holds the view
// of every rank, so that ranks may be threads here or forked children. The
// authority belongs to one thread; views may be used from any, while it lives.
#ifndef WEFT_TESTS_SUPPORT_TEST_NODE_H_
#define WEFT_TESTS_SUPPORT_TEST_NODE_H_

#include "runtime/memory/node_memory.h"

namespace weft {

class TestNode {
 public:
  // Aborts the process, saying why, when the memory cannot be had.
  TestNode(Rank size, uint64_t slab_bytes);

  // Rank `rank`'s view; forked children may use it too. All ranks share one mapping:
  // ThreadSanitizer tells accesses to the same memory by their address.
  NodeView view(Rank rank) const {
    NodeView view = memory_.view();
    view.rank = rank;
    return view;
  }
  Rank size() const { return memory_.view().size; }
  NodeAuthority& authority() { return authority_; }

 private:
  NodeAuthority authority_;
  NodeMemory memory_;
};

}  // namespace weft
#endif  // WEFT_TESTS_SUPPORT_TEST_NODE_H_
