#include "examples/bfs/distributed_graph.h"

#include <algorithm>
#include <vector>

#include "examples/bfs/broadcast.h"
#include "weft/try.h"

namespace bfs {
namespace {

// How much room a symmetric array needs, so that each rank's part fits.
struct Shape {
  Vertex vertices = 0;
  uint64_t largest_part = 0;  // Arcs that the rank with the most has.
};

Shape ShapeOf(const Graph& whole, weft::Rank ranks) {
  const Partition partition(whole.vertices(), ranks);
  std::vector<uint64_t> arcs(ranks);
  for (Vertex v = 0; v < whole.vertices(); ++v) {
    arcs[partition.Owner(v)] += whole.Neighbours(v).size();
  }
  return {whole.vertices(), *std::max_element(arcs.begin(), arcs.end())};
}

size_t OffsetCount(const Partition& partition) { return size_t{partition.Count(0)} + 1; }

}  // namespace

absl::StatusOr<DistributedGraph> DistributedGraph::Create(weft::World& world, const Graph* whole) {
  const Shape shape =
      WEFT_TRY(Broadcast(world, world.rank() == 0 ? ShapeOf(*whole, world.size()) : Shape()));
  const Partition partition(shape.vertices, world.size());
  auto offsets = WEFT_TRY(weft::Symmetric<uint64_t>::Create(world, OffsetCount(partition)));
  auto targets = WEFT_TRY(weft::Symmetric<Vertex>::Create(world, shape.largest_part));
  DistributedGraph graph(partition, std::move(offsets), std::move(targets));
  if (world.rank() == 0) {
    for (weft::Rank rank = 0; rank < world.size(); ++rank) {
      WEFT_TRY(graph.PutPart(*whole, rank));
    }
  }
  WEFT_TRY(world.Barrier());
  return graph;
}

absl::Status DistributedGraph::PutPart(const Graph& whole, weft::Rank rank) {
  std::vector<uint64_t> offsets = {0};
  std::vector<Vertex> targets;
  for (Vertex index = 0; index < partition_.Count(rank); ++index) {
    const auto neighbours = whole.Neighbours(partition_.At(rank, index));
    targets.insert(targets.end(), neighbours.begin(), neighbours.end());
    offsets.push_back(targets.size());
  }
  WEFT_TRY(weft::Put(offsets_.at(rank), offsets));
  return weft::Put(targets_.at(rank), targets);
}

uint64_t DistributedGraph::HeapBytes(const Graph& whole, weft::Rank ranks) {
  const Partition partition(whole.vertices(), ranks);
  return OffsetCount(partition) * sizeof(uint64_t) +
         ShapeOf(whole, ranks).largest_part * sizeof(Vertex);
}

}  // namespace bfs
