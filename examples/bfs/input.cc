#include "examples/bfs/input.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "examples/bfs/edge_list.h"
#include "examples/bfs/named_edges.h"
#include "examples/bfs/package_graph.h"
#include "examples/bfs/package_lists.h"
#include "examples/bfs/read_file.h"
#include "examples/bfs/text_error.h"
#include "weft/try.h"

namespace bfs {
namespace {

// Reaches some thousand packages: a good one to look at.
constexpr char kPopularPackage[] = "gnome";

Input EdgeListInput(std::string source, NamedEdges named, Direction direction) {
  Input input;
  input.source = std::move(source);
  input.vertices_word = "vertices";
  input.edges_word = "edges";
  input.graph = Graph(named.names.size(), named.edges, direction);
  input.names = std::move(named.names);
  return input;
}

Input PackageInput(std::string source, PackageGraphBuilder builder) {
  Input input = EdgeListInput(std::move(source), std::move(builder).Build(), Direction::kDirected);
  input.vertices_word = "packages";
  input.edges_word = "dependencies";
  return input;
}

absl::StatusOr<Input> ReadEdgeList(const Options& options) {
  const std::string text = WEFT_TRY(ReadFile(options.graph));
  return EdgeListInput(options.graph, WEFT_TRY(ParseEdgeList(text, options.graph)),
                       options.directed ? Direction::kDirected : Direction::kUndirected);
}

absl::StatusOr<Input> ReadFolder(const std::string& folder) {
  const auto lists = WEFT_TRY(FindPackageLists(folder));
  PackageGraphBuilder builder;
  for (const std::string& list : lists) {
    WEFT_TRY(builder.Add(WEFT_TRY(ReadPackageList(list)), list));
  }
  return PackageInput(
      absl::StrCat(folder, " (", lists.size(), lists.size() == 1 ? " list)" : " lists)"),
      std::move(builder));
}

absl::StatusOr<Vertex> FindRoot(const std::string& name, const Input& input) {
  const Vertex root = input.names.Find(name);
  if (root != kNoVertex) return root;
  const std::vector<std::string> closest = input.names.Closest(name, 5);
  return absl::NotFoundError(absl::StrCat(
      input.source, ": there is no ", Quoted(name), " among the ", input.names.size(), " ",
      input.vertices_word,
      closest.empty() ? "" : absl::StrCat("; did you mean ", absl::StrJoin(closest, ", "), "?")));
}

Vertex MostEdges(const Graph& graph) {
  Vertex most = graph.vertices() == 0 ? kNoVertex : 0;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    if (graph.Neighbours(v).size() > graph.Neighbours(most).size()) most = v;
  }
  return most;
}

}  // namespace

absl::StatusOr<Input> ReadMachine(const std::string& lists, const std::string& status) {
  absl::StatusOr<Input> available = ReadFolder(lists);
  if (available.ok()) return available;
  const absl::StatusOr<std::string> installed = ReadFile(status);
  if (!installed.ok()) {
    return absl::NotFoundError(
        absl::StrCat("no Debian packages on this machine (", available.status().message(), "; ",
                     installed.status().message(), "); name an edge list with --graph FILE"));
  }
  PackageGraphBuilder builder;
  WEFT_TRY(builder.Add(*installed, status));
  Input input = PackageInput(status, std::move(builder));
  input.note = absl::StrCat("a small graph, of the packages that are installed: ",
                            available.status().message());
  return input;
}

absl::StatusOr<Input> ReadInput(const Options& options) {
  const bool packages = options.graph.empty();
  Input input = WEFT_TRY(!packages                  ? ReadEdgeList(options)
                         : options.packages.empty() ? ReadMachine(kAptLists, kDpkgStatus)
                                                    : ReadFolder(options.packages));
  if (!options.root.empty()) {
    input.root = WEFT_TRY(FindRoot(options.root, input));
    return input;
  }
  if (packages) input.root = input.names.Find(kPopularPackage);
  if (input.root == kNoVertex) input.root = MostEdges(input.graph);
  return input;
}

}  // namespace bfs
