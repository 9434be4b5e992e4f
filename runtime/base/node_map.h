// On which node each rank of a job runs. Immutable; any thread.
#ifndef WEFT_RUNTIME_BASE_NODE_MAP_H_
#define WEFT_RUNTIME_BASE_NODE_MAP_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/rank.h"

namespace weft {

class NodeMap {
 public:
  // `node_of`: for each rank its node. Nodes are numbered from 0 on, without gaps.
  explicit NodeMap(std::vector<uint16_t> node_of) : node_of_(std::move(node_of)) {
    for (const uint16_t node : node_of_) nodes_ = std::max<uint32_t>(nodes_, node + 1u);
  }
  // `size` ranks are dealt out to `nodes` nodes in blocks of equal size, but for one rank.
  static NodeMap Blocks(Rank size, uint32_t nodes) {
    std::vector<uint16_t> node_of(size);
    for (Rank r = 0; r < size; ++r) node_of[r] = static_cast<uint16_t>(uint64_t{r} * nodes / size);
    return NodeMap(std::move(node_of));
  }

  Rank size() const { return static_cast<Rank>(node_of_.size()); }
  uint32_t nodes() const { return nodes_; }
  uint32_t of(Rank rank) const { return node_of_[rank]; }
  // Ascending.
  std::vector<Rank> RanksOn(uint32_t node) const {
    std::vector<Rank> ranks;
    for (Rank r = 0; r < size(); ++r) {
      if (of(r) == node) ranks.push_back(r);
    }
    return ranks;
  }
  const std::vector<uint16_t>& table() const { return node_of_; }

 private:
  std::vector<uint16_t> node_of_;
  uint32_t nodes_ = 1;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_NODE_MAP_H_
