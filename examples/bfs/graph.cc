#include "examples/bfs/graph.h"

#include <algorithm>

namespace bfs {

Graph::Graph(Vertex vertices, std::span<const Edge> edges, Direction direction)
    : direction_(direction), offsets_(size_t{vertices} + 1) {
  const bool both_ways = direction == Direction::kUndirected;
  // A counting sort by source: sizes, then starts, then the targets themselves.
  for (const Edge& edge : edges) {
    ++offsets_[edge.from];
    if (both_ways) ++offsets_[edge.to];
  }
  uint64_t total = 0;
  for (uint64_t& offset : offsets_) {
    const uint64_t size = offset;
    offset = total;
    total += size;
  }
  targets_.resize(total);
  std::vector<uint64_t> next = offsets_;
  for (const Edge& edge : edges) {
    targets_[next[edge.from]++] = edge.to;
    if (both_ways) targets_[next[edge.to]++] = edge.from;
  }

  uint64_t kept = 0;
  for (Vertex v = 0; v < vertices; ++v) {
    const auto begin = targets_.begin() + offsets_[v], end = targets_.begin() + offsets_[v + 1];
    std::sort(begin, end);
    offsets_[v] = kept;
    Vertex last = v;  // So that a self loop in front looks like a repetition.
    for (auto it = begin; it != end; ++it) {
      if (*it != last && *it != v) targets_[kept++] = *it;
      last = *it;
    }
  }
  offsets_[vertices] = kept;
  targets_.resize(kept);
}

Graph Graph::Undirected() const {
  std::vector<Edge> edges;
  edges.reserve(targets_.size());
  for (Vertex v = 0; v < vertices(); ++v) {
    for (Vertex target : Neighbours(v)) edges.push_back({v, target});
  }
  return Graph(vertices(), edges, Direction::kUndirected);
}

}  // namespace bfs
