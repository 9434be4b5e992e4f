// A graph spread over the ranks: each has, in its part of the global heap, its
// own vertices and where their edges lead.
#ifndef WEFT_EXAMPLES_BFS_DISTRIBUTED_GRAPH_H_
#define WEFT_EXAMPLES_BFS_DISTRIBUTED_GRAPH_H_

#include <cstdint>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/bfs/graph.h"
#include "examples/bfs/partition.h"
#include "weft/weft.h"

namespace bfs {

class DistributedGraph {
 public:
  // Collective. Rank 0 has the `whole` graph, of at least one vertex, and puts
  // each rank's part into its memory; the others pass null.
  static absl::StatusOr<DistributedGraph> Create(weft::World& world, const Graph* whole);

  // Bytes of symmetric memory that Create takes on each of `ranks` ranks.
  static uint64_t HeapBytes(const Graph& whole, weft::Rank ranks);

  const Partition& partition() const { return partition_; }
  // Where the edges of this rank's vertex number `index` lead.
  std::span<const Vertex> Neighbours(Vertex index) const {
    const auto offsets = offsets_.mine();
    return targets_.mine().subspan(offsets[index], offsets[index + 1] - offsets[index]);
  }

 private:
  DistributedGraph(Partition partition, weft::Symmetric<uint64_t> offsets,
                   weft::Symmetric<Vertex> targets)
      : partition_(partition), offsets_(std::move(offsets)), targets_(std::move(targets)) {}

  absl::Status PutPart(const Graph& whole, weft::Rank rank);

  Partition partition_;
  weft::Symmetric<uint64_t> offsets_;  // Of each own vertex in targets_, and the end.
  weft::Symmetric<Vertex> targets_;
};

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_DISTRIBUTED_GRAPH_H_
