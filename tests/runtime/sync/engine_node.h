// A shared node whose ranks have Engines over shared memory, all in this thread:
// what a rank sends has landed when its call returns, so that an interleaving of
// ranks is a plain sequence of calls.
#ifndef WEFT_TESTS_RUNTIME_SYNC_ENGINE_NODE_H_
#define WEFT_TESTS_RUNTIME_SYNC_ENGINE_NODE_H_

#include <memory>
#include <vector>

#include "runtime/engine/engine.h"
#include "tests/runtime/sync/shared_node.h"

namespace weft {

class EngineNode {
 public:
  explicit EngineNode(Rank size);

  SharedNode& node() { return node_; }
  Engine& engine(Rank rank) { return *engines_[rank]; }

 private:
  SharedNode node_;
  std::vector<std::unique_ptr<Registration>> registrations_;
  std::vector<PeerCard> cards_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

}  // namespace weft
#endif  // WEFT_TESTS_RUNTIME_SYNC_ENGINE_NODE_H_
