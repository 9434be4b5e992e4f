#include "examples/bfs/options.h"

#include "examples/options.h"

namespace bfs {

absl::StatusOr<Options> ParseOptions(int argc, const char* const* argv) {
  Options options;
  examples::OptionParser parser;
  parser.AddText("--graph", &options.graph);
  parser.AddText("--packages", &options.packages);
  parser.AddText("--root", &options.root);
  parser.AddFlag("--directed", &options.directed);
  parser.AddNumber("--roots", &options.roots, 1);
  parser.AddFlag("--help", &options.help);
  if (absl::Status status = parser.Parse(argc, argv); !status.ok()) return status;
  if (!options.graph.empty() && !options.packages.empty()) {
    return absl::InvalidArgumentError("--graph and --packages exclude each other");
  }
  if (options.directed && options.graph.empty()) {
    return absl::InvalidArgumentError("--directed is for --graph: dependencies are directed");
  }
  return options;
}

}  // namespace bfs
