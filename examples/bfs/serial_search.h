// Breadth-first search in one thread: what the distributed one is compared with.
#ifndef WEFT_EXAMPLES_BFS_SERIAL_SEARCH_H_
#define WEFT_EXAMPLES_BFS_SERIAL_SEARCH_H_

#include "examples/bfs/graph.h"
#include "examples/bfs/search_tree.h"

namespace bfs {

SearchTree SerialSearch(const Graph& graph, Vertex root);

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_SERIAL_SEARCH_H_
