// Breadth-first search of a real graph by all ranks of a job: see kUsage in
// options.h.
//   weftrun -n 4 bfs
#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/bfs/broadcast.h"
#include "examples/bfs/input.h"
#include "examples/bfs/options.h"
#include "examples/bfs/report.h"
#include "examples/bfs/verified_search.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace bfs {
namespace {

// Tells what the root reaches, along the edges as they are.
absl::Status ShowRoot(weft::World& world, const Input* input) {
  auto search = WEFT_TRY(VerifiedSearch::Create(world, input ? &input->graph : nullptr));
  const auto outcome = WEFT_TRY(search.Run(input ? input->root : kNoVertex));
  if (input == nullptr) return absl::OkStatus();

  const std::vector<uint64_t> counts = CountByLevel(outcome.tree);
  uint64_t reached = 0;
  for (uint64_t count : counts) reached += count;
  absl::PrintF("\n%s reaches %d of %d %s:\n\n", input->names[input->root], reached,
               input->graph.vertices(), input->vertices_word);
  absl::PrintF("%s\n", DistanceChart(counts, input->vertices_word));
  if (const size_t steps = counts.size() - 1; steps > 0) {
    absl::PrintF("The farthest, %d step%s away:\n\n%s\n", steps, steps == 1 ? "" : "s",
                 FarthestPath(outcome.tree, input->names));
  }
  return absl::OkStatus();
}

// At most `count` vertices that have an edge: each time the same for one graph.
std::vector<Vertex> SampleRoots(const Graph& graph, uint64_t count) {
  std::vector<Vertex> candidates;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    if (!graph.Neighbours(v).empty()) candidates.push_back(v);
  }
  std::vector<Vertex> roots;
  std::sample(candidates.begin(), candidates.end(), std::back_inserter(roots), count,
              std::mt19937_64(1));
  return roots;
}

// Measures the search rate as the Graph500 benchmark does: from random roots that
// have an edge, with edges followed both ways.
absl::Status MeasureRate(weft::World& world, const Input* input, uint64_t root_count) {
  std::optional<Graph> graph;
  std::vector<Vertex> roots;
  if (input != nullptr) {
    graph = input->graph.Undirected();
    roots = SampleRoots(*graph, root_count);
  }
  auto search = WEFT_TRY(VerifiedSearch::Create(world, graph ? &*graph : nullptr));
  const uint64_t searches = WEFT_TRY(Broadcast(world, uint64_t{roots.size()}));
  std::vector<double> rates;
  for (uint64_t i = 0; i < searches; ++i) {
    const auto outcome = WEFT_TRY(search.Run(graph ? roots[i] : kNoVertex));
    rates.push_back(static_cast<double>(outcome.edges) / outcome.seconds);
  }
  if (input == nullptr) return absl::OkStatus();

  absl::PrintF("verified: %d search%s, by the Graph500 rules and against a serial search\n",
               searches + 1, searches == 0 ? "" : "es");
  if (rates.empty()) return absl::OkStatus();
  const auto [slowest, fastest] = std::minmax_element(rates.begin(), rates.end());
  absl::PrintF(
      "search rate: %.0f edges/s with %d rank%s\n"
      "  (harmonic mean of %d random roots, edges followed both ways; %.0f to %.0f)\n",
      HarmonicMean(rates), world.size(), world.size() == 1 ? "" : "s", searches, *slowest,
      *fastest);
  return absl::OkStatus();
}

// The heap that the larger of the two graphs needs, in the words of a user.
absl::Status HeapTooSmall(const Input& input, weft::Rank ranks, const absl::Status& status) {
  const Graph graph = input.graph.Undirected();
  // A quarter of the heap is not for symmetric memory; a MiB more for what is small.
  const uint64_t mib = (VerifiedSearch::HeapBytes(graph, ranks) / 3 * 4 >> 20) + 2;
  return absl::ResourceExhaustedError(absl::StrCat(
      input.source, " does not fit the global heap: ", graph.vertices(), " ", input.vertices_word,
      " and ", graph.edges(), " ", input.edges_word, " take ", mib, " MiB on each of ", ranks,
      " ranks; set WEFT_HEAP_BYTES=", mib << 20, " (", status.message(), ")"));
}

absl::Status Run(weft::World& world, const Options& options) {
  // Rank 0 alone reads the graph. When it cannot, it says so, and the others leave.
  std::optional<Input> input;
  absl::Status read;
  if (world.rank() == 0) {
    auto result = ReadInput(options);
    read = result.status();
    if (result.ok()) input = *std::move(result);
  }
  const bool searchable = WEFT_TRY(Broadcast(world, input && input->graph.vertices() != 0));
  if (input) {
    absl::PrintF("%s: %d %s, %d %s\n", input->source, input->graph.vertices(), input->vertices_word,
                 input->graph.edges(), input->edges_word);
    if (!input->note.empty()) absl::PrintF("note: %s\n", input->note);
    if (!searchable) absl::PrintF("nothing to search\n");
  }
  if (!searchable) return read;
  const Input* mine = input ? &*input : nullptr;
  absl::Status status = ShowRoot(world, mine);
  if (status.ok()) status = MeasureRate(world, mine, options.roots);
  // All ranks find the heap too small alike.
  if (!absl::IsResourceExhausted(status)) return status;
  return mine ? HeapTooSmall(*mine, world.size(), status) : absl::OkStatus();
}

}  // namespace
}  // namespace bfs

int main(int argc, char** argv) {
  return weft::Main([&](weft::World& world) -> absl::Status {
    const auto options = bfs::ParseOptions(argc, argv);
    // What all ranks find alike, one of them tells.
    const bool tells = world.rank() == 0;
    if (!options.ok()) return tells ? options.status() : absl::OkStatus();
    if (options->help) {
      if (tells) absl::PrintF("%s", bfs::kUsage);
      return absl::OkStatus();
    }
    return bfs::Run(world, *options);
  });
}
