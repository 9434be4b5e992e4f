#include "examples/bfs/serial_search.h"

#include <cstddef>
#include <vector>

namespace bfs {

SearchTree SerialSearch(const Graph& graph, Vertex root) {
  SearchTree tree(graph.vertices());
  tree[root] = {.parent = root, .level = 0};
  std::vector<Vertex> queue = {root};
  for (size_t head = 0; head < queue.size(); ++head) {
    const Vertex from = queue[head];
    for (Vertex to : graph.Neighbours(from)) {
      if (tree[to].reached()) continue;
      tree[to] = {.parent = from, .level = tree[from].level + 1};
      queue.push_back(to);
    }
  }
  return tree;
}

}  // namespace bfs
