#include "examples/bfs/verified_search.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "examples/bfs/broadcast.h"
#include "examples/bfs/serial_search.h"
#include "examples/bfs/validate.h"
#include "weft/try.h"

namespace bfs {
namespace {

// `status` of an allocation, with what would make it succeed: rank 0 knows.
absl::Status WithCure(const absl::Status& status, const Graph* whole, weft::Rank ranks) {
  if (!absl::IsResourceExhausted(status) || whole == nullptr) return status;
  const uint64_t need = DistributedGraph::HeapBytes(*whole, ranks) +
                        DistributedSearch::HeapBytes(Partition(whole->vertices(), ranks));
  // A quarter of the heap is not for symmetric memory; a MiB more for the rest.
  const uint64_t heap_mib = (need / 3 * 4 >> 20) + 2;
  return absl::ResourceExhaustedError(absl::StrCat(
      "the graph does not fit the global heap: ", whole->vertices(), " vertices and ",
      whole->edges(), " edges on ", ranks, " ranks need ", heap_mib,
      " MiB on each; set WEFT_HEAP_BYTES=", heap_mib << 20, " (", status.message(), ")"));
}

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
  auto graph = DistributedGraph::Create(world, whole);
  if (!graph.ok()) return WithCure(graph.status(), whole, world.size());
  auto search = DistributedSearch::Create(world, *std::move(graph));
  if (!search.ok()) return WithCure(search.status(), whole, world.size());
  return VerifiedSearch(world, whole, *std::move(search), std::move(tree_edges));
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
