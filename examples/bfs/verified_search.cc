#include "examples/bfs/verified_search.h"

#include <chrono>

#include "examples/bfs/broadcast.h"
#include "examples/bfs/serial_search.h"
#include "examples/bfs/validate.h"
#include "weft/try.h"

namespace bfs {
namespace {

uint64_t EdgesOf(const SearchTree& tree, const Graph& graph) {
  uint64_t arcs = 0;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    if (tree[v].reached()) arcs += graph.Neighbours(v).size();
  }
  return graph.Edges(arcs);
}

}  // namespace

absl::StatusOr<VerifiedSearch> VerifiedSearch::Create(weft::World& world, const Graph* whole) {
  auto tree_edges = WEFT_TRY(weft::Symmetric<uint64_t>::Create(world));
  auto graph = WEFT_TRY(DistributedGraph::Create(world, whole));
  auto search = WEFT_TRY(DistributedSearch::Create(world, std::move(graph)));
  return VerifiedSearch(world, whole, std::move(search), std::move(tree_edges));
}

uint64_t VerifiedSearch::HeapBytes(const Graph& whole, weft::Rank ranks) {
  return sizeof(uint64_t) + DistributedGraph::HeapBytes(whole, ranks) +
         DistributedSearch::HeapBytes(Partition(whole.vertices(), ranks));
}

absl::StatusOr<VerifiedSearch::Outcome> VerifiedSearch::Run(Vertex root) {
  root = WEFT_TRY(Broadcast(*world_, root));
  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  WEFT_TRY(search_.Run(root));
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  outcome.tree = WEFT_TRY(search_.Gather());
  WEFT_TRY(Verify(outcome.tree, root));
  if (world_->rank() == 0) outcome.edges = EdgesOf(outcome.tree, *whole_);
  return outcome;
}

absl::Status VerifiedSearch::Verify(const SearchTree& tree, Vertex root) {
  const DistributedGraph& graph = search_.graph();
  weft::PostAdd(tree_edges_.at(0),
                WEFT_TRY(CheckPart(
                    graph.partition(), world_->rank(),
                    [&](Vertex index) { return graph.Neighbours(index); }, tree, root)));
  WEFT_TRY(world_->Barrier());
  if (world_->rank() != 0) return absl::OkStatus();
  WEFT_TRY(CheckTreeEdges(WEFT_TRY(weft::Swap(tree_edges_.at(0), 0)), tree));
  return CheckLevels(tree, SerialSearch(*whole_, root));
}

}  // namespace bfs
