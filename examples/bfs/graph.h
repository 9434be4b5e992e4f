// A graph in compressed sparse rows: for each vertex, the sorted list of where
// its edges lead. Self loops and repeated edges are dropped, since neither
// changes what a search finds. Immutable, so any number of threads may read it.
#ifndef WEFT_EXAMPLES_BFS_GRAPH_H_
#define WEFT_EXAMPLES_BFS_GRAPH_H_

#include <cstdint>
#include <span>
#include <vector>

namespace bfs {

using Vertex = uint32_t;

// No vertex has this number.
inline constexpr Vertex kNoVertex = UINT32_MAX;

struct Edge {
  Vertex from;
  Vertex to;
  friend bool operator==(const Edge&, const Edge&) = default;
};

enum class Direction {
  kDirected,    // An edge leads from `from` to `to` only.
  kUndirected,  // It leads both ways, and is stored as two arcs.
};

class Graph {
 public:
  Graph() = default;
  // All ends of `edges` are below `vertices`.
  Graph(Vertex vertices, std::span<const Edge> edges, Direction direction);

  Vertex vertices() const { return static_cast<Vertex>(offsets_.size() - 1); }
  Direction direction() const { return direction_; }
  // An undirected edge counts once.
  uint64_t edges() const { return Edges(targets_.size()); }
  // How many edges `arcs` stored entries stand for.
  uint64_t Edges(uint64_t arcs) const {
    return direction_ == Direction::kUndirected ? arcs / 2 : arcs;
  }

  std::span<const Vertex> Neighbours(Vertex v) const {
    return std::span(targets_).subspan(offsets_[v], offsets_[v + 1] - offsets_[v]);
  }

  // The same edges, followed both ways.
  Graph Undirected() const;

 private:
  Direction direction_ = Direction::kDirected;
  std::vector<uint64_t> offsets_ = {0};  // Of each vertex in targets_, and the end.
  std::vector<Vertex> targets_;
};

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_GRAPH_H_
