// Whatever a text is, the parsers of bfs yield a graph or an error with a line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "examples/bfs/edge_list.h"
#include "examples/bfs/package_graph.h"

namespace {

void Expect(bool holds) {
  if (!holds) std::abort();
}

void ExpectLine(const absl::Status& status) {
  Expect(absl::IsInvalidArgument(status) && status.message().substr(0, 2) == "f:");
}

void ExpectGraph(const bfs::NamedEdges& named) {
  for (const bfs::Edge& edge : named.edges) {
    Expect(edge.from < named.names.size() && edge.to < named.names.size());
  }
  const bfs::Graph graph(named.names.size(), named.edges, bfs::Direction::kUndirected);
  Expect(graph.edges() <= named.edges.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto edges = bfs::ParseEdgeList(text, "f"); edges.ok()) {
    ExpectGraph(*edges);
  } else {
    ExpectLine(edges.status());
  }
  bfs::PackageGraphBuilder builder;
  if (absl::Status status = builder.Add(text, "f"); status.ok()) {
    ExpectGraph(std::move(builder).Build());
  } else {
    ExpectLine(status);
  }
  return 0;
}
