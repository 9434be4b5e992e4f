// Searches that are checked: each by the Graph500 rules, by all ranks, and
// against a serial search, by rank 0.
#ifndef WEFT_EXAMPLES_BFS_VERIFIED_SEARCH_H_
#define WEFT_EXAMPLES_BFS_VERIFIED_SEARCH_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "examples/bfs/distributed_search.h"
#include "examples/bfs/graph.h"
#include "examples/bfs/search_tree.h"
#include "weft/weft.h"

namespace bfs {

// Used by one thread. The World, and rank 0's graph, outlive it.
class VerifiedSearch {
 public:
  struct Outcome {
    SearchTree tree;
    double seconds = 0;  // The search alone, on this rank.
    // The edges that have an end in the tree (a directed one: its source), for
    // the search rate: rank 0 only.
    uint64_t edges = 0;
  };

  // Collective. `whole` as of DistributedGraph::Create. kResourceExhausted, on
  // all ranks: it does not fit the global heap.
  static absl::StatusOr<VerifiedSearch> Create(weft::World& world, const Graph* whole);

  // Bytes of symmetric memory that Create takes on each of `ranks` ranks.
  static uint64_t HeapBytes(const Graph& whole, weft::Rank ranks);

  // Collective. Searches from rank 0's `root`; the others' is not looked at.
  // kInternal: the search is wrong.
  absl::StatusOr<Outcome> Run(Vertex root);

 private:
  VerifiedSearch(weft::World& world, const Graph* whole, DistributedSearch search,
                 weft::Symmetric<uint64_t> tree_edges)
      : world_(&world),
        whole_(whole),
        search_(std::move(search)),
        tree_edges_(std::move(tree_edges)) {}

  absl::Status Verify(const SearchTree& tree, Vertex root);

  weft::World* world_;
  const Graph* whole_;
  DistributedSearch search_;
  weft::Symmetric<uint64_t> tree_edges_;  // Atomic, rank 0's: what CheckPart counted.
};

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_VERIFIED_SEARCH_H_
