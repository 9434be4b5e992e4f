// The dependency graph of Debian packages, from control data: a vertex for each
// package, an edge to each package that one depends on (Depends, Pre-Depends) or
// recommends, all alternatives included. A name that only Provides fields bring,
// such as mail-transport-agent, stands for all packages that provide it; what
// nothing provides is left out.
#ifndef WEFT_EXAMPLES_BFS_PACKAGE_GRAPH_H_
#define WEFT_EXAMPLES_BFS_PACKAGE_GRAPH_H_

#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "examples/bfs/control_file.h"
#include "examples/bfs/named_edges.h"

namespace bfs {

class PackageGraphBuilder {
 public:
  // Adds the packages of `text`. A package that comes again, in another version,
  // has the dependencies of all its versions. Errors: kInvalidArgument, with
  // `file` and the line.
  absl::Status Add(std::string_view text, std::string_view file);

  // Resolves the names.
  NamedEdges Build() &&;

 private:
  absl::Status AddPackage(std::span<const ControlField> stanza, std::string_view file);

  // All names that occur, packages or not; edges are between these.
  VertexNames names_;
  std::vector<Edge> dependencies_;  // From a package to what it names.
  std::vector<Edge> provides_;      // From what a package provides to the package.
  std::vector<bool> is_package_;    // By name; shorter than names_ where false.
};

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_PACKAGE_GRAPH_H_
