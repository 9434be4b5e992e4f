// What an input yields before it becomes a Graph: names, and edges between them.
#ifndef WEFT_EXAMPLES_BFS_NAMED_EDGES_H_
#define WEFT_EXAMPLES_BFS_NAMED_EDGES_H_

#include <vector>

#include "examples/bfs/graph.h"
#include "examples/bfs/vertex_names.h"

namespace bfs {

struct NamedEdges {
  VertexNames names;
  std::vector<Edge> edges;
};

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_NAMED_EDGES_H_
