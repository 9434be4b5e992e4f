// The graph that the command line asks for, and the words to speak of it.
#ifndef WEFT_EXAMPLES_BFS_INPUT_H_
#define WEFT_EXAMPLES_BFS_INPUT_H_

#include <string>

#include "absl/status/statusor.h"
#include "examples/bfs/graph.h"
#include "examples/bfs/options.h"
#include "examples/bfs/vertex_names.h"

namespace bfs {

struct Input {
  std::string source;  // "graph.txt"
  std::string vertices_word;
  std::string edges_word;
  std::string note;  // What the user should know of the source; may be empty.
  Graph graph;
  VertexNames names;
  Vertex root = kNoVertex;  // kNoVertex only when there are no vertices.
};

// Reads files; for one rank. Errors name file and line, or the root that is not
// there and what may have been meant.
absl::StatusOr<Input> ReadInput(const Options& options);

// The packages of a machine that keeps apt's lists in the folder `lists`: the
// available ones, else those that are installed, of dpkg's file `status`. The
// root is not set.
absl::StatusOr<Input> ReadMachine(const std::string& lists, const std::string& status);

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_INPUT_H_
