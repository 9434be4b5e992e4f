// What a breadth-first search finds: for each vertex, from where it was reached
// and at which distance.
#ifndef WEFT_EXAMPLES_BFS_SEARCH_TREE_H_
#define WEFT_EXAMPLES_BFS_SEARCH_TREE_H_

#include <cstdint>
#include <vector>

#include "examples/bfs/graph.h"

namespace bfs {

struct Reached {
  Vertex parent = kNoVertex;  // Of the root: itself. kNoVertex: not reached.
  uint32_t level = 0;

  bool reached() const { return parent != kNoVertex; }
};

// By vertex.
using SearchTree = std::vector<Reached>;

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_SEARCH_TREE_H_
