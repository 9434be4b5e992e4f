// Checks a search tree by the rules of the Graph500 benchmark. Each rank checks
// what its own vertices and edges can show; together, and with the count of tree
// edges, that is all:
//
//   1. the root, and no other vertex, is its own parent, at level 0;
//   2. every other vertex that was reached has a parent one level above it, so
//      that the tree has no cycle and hangs together;
//   3. every edge from a reached vertex leads to a reached vertex, at most one
//      level below, so that exactly the reachable vertices were reached and no
//      shorter way was missed. For an undirected graph, whose edges are stored
//      both ways: the ends of each edge are both reached or both not, and differ
//      by at most one level;
//   4. every edge of the tree is an edge of the graph: CheckPart counts those
//      that are, and all ranks' counts must add up to the vertices reached
//      without the root.
#ifndef WEFT_EXAMPLES_BFS_VALIDATE_H_
#define WEFT_EXAMPLES_BFS_VALIDATE_H_

#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/bfs/graph.h"
#include "examples/bfs/partition.h"
#include "examples/bfs/search_tree.h"

namespace bfs {

// Rules 1 to 3 for the vertices of `rank`, whose neighbours `neighbours` tells by
// their index at that rank. Returns how many of its edges are tree edges; an
// error names the vertices, by number.
absl::StatusOr<uint64_t> CheckPart(const Partition& partition, weft::Rank rank,
                                   absl::FunctionRef<std::span<const Vertex>(Vertex)> neighbours,
                                   const SearchTree& tree, Vertex root);

// Rule 4.
absl::Status CheckTreeEdges(uint64_t tree_edges_found, const SearchTree& tree);

// Whether `tree` has each vertex at the same level as `expected`. Parents may
// differ: there are many right trees.
absl::Status CheckLevels(const SearchTree& tree, const SearchTree& expected);

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_VALIDATE_H_
