// Breadth-first search by all ranks, level by level.
//
// Each rank expands its own vertices of the frontier. What it finds of another
// rank's it puts into that rank's inbox, where a fetch-add has reserved the room,
// without that rank's taking part; after a barrier each rank reads its inbox. A
// rank tells of each vertex once a search, so an inbox with room for every own
// vertex from every other rank can never overflow.
#ifndef WEFT_EXAMPLES_BFS_DISTRIBUTED_SEARCH_H_
#define WEFT_EXAMPLES_BFS_DISTRIBUTED_SEARCH_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/bfs/distributed_graph.h"
#include "examples/bfs/search_tree.h"
#include "weft/weft.h"

namespace bfs {

// Used by one thread. The World outlives it.
class DistributedSearch {
 public:
  // Collective.
  static absl::StatusOr<DistributedSearch> Create(weft::World& world, DistributedGraph graph);

  // Bytes of symmetric memory that Create takes on each rank, without the graph.
  static uint64_t HeapBytes(const Partition& partition);

  const DistributedGraph& graph() const { return graph_; }

  // Searches from `root`, the same on all ranks. Collective.
  absl::Status Run(Vertex root);

  // The tree that the last Run found, of all ranks' vertices, by one-sided gets.
  // No rank may start another Run meanwhile.
  absl::StatusOr<SearchTree> Gather() const;

 private:
  // That `vertex` can be reached from `parent`.
  struct Visit {
    Vertex vertex;
    Vertex parent;
  };

  DistributedSearch(weft::World& world, DistributedGraph graph, weft::Symmetric<Reached> tree,
                    weft::Symmetric<Visit> inbox, weft::Symmetric<uint64_t> inbox_size,
                    weft::Symmetric<uint64_t> total);

  void Start(Vertex root);
  void Expand(uint32_t level);
  void Reach(Visit visit, uint32_t level);
  absl::Status Send();
  absl::Status Receive(uint32_t level);

  weft::World* world_;
  DistributedGraph graph_;
  weft::Symmetric<Reached> tree_;         // Of the own vertices.
  weft::Symmetric<Visit> inbox_;          // Filled by the other ranks.
  weft::Symmetric<uint64_t> inbox_size_;  // Atomic: the room in it that is taken.
  weft::Symmetric<uint64_t> total_;       // Atomic, rank 0's: vertices reached by all searches.

  std::vector<Vertex> frontier_;              // By index at this rank.
  std::vector<Vertex> next_frontier_;         // Likewise.
  std::vector<std::vector<Visit>> outgoing_;  // By rank.
  std::vector<bool> told_;                    // By vertex: has been in outgoing_.
};

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_DISTRIBUTED_SEARCH_H_
