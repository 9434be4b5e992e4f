// Which rank owns which vertex: they are dealt out like cards, so that vertices
// with many edges, which often have neighbouring numbers, spread over the ranks.
#ifndef WEFT_EXAMPLES_BFS_PARTITION_H_
#define WEFT_EXAMPLES_BFS_PARTITION_H_

#include <cstdint>

#include "examples/bfs/graph.h"
#include "weft/rank.h"

namespace bfs {

class Partition {
 public:
  Partition(Vertex vertices, weft::Rank ranks) : vertices_(vertices), ranks_(ranks) {}

  Vertex vertices() const { return vertices_; }
  weft::Rank ranks() const { return ranks_; }

  weft::Rank Owner(Vertex v) const { return v % ranks_; }
  // The position of `v` among the vertices of its owner, and back.
  Vertex Index(Vertex v) const { return v / ranks_; }
  Vertex At(weft::Rank owner, Vertex index) const { return index * ranks_ + owner; }

  // How many vertices `rank` owns; rank 0 owns the most.
  Vertex Count(weft::Rank rank) const {
    return vertices_ / ranks_ + (rank < vertices_ % ranks_ ? 1 : 0);
  }

 private:
  Vertex vertices_;
  weft::Rank ranks_;
};

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_PARTITION_H_
