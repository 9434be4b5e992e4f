// Edge lists: a line for each edge, with two vertex ids between blanks. An id is
// any word, a number or a name; ids are the same if they are spelt the same.
// Empty lines and lines that begin with '#' or '%' are skipped, so that the
// files of SNAP and KONECT are read as they are.
#ifndef WEFT_EXAMPLES_BFS_EDGE_LIST_H_
#define WEFT_EXAMPLES_BFS_EDGE_LIST_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "examples/bfs/named_edges.h"

namespace bfs {

// `file` is for messages only. Errors: kInvalidArgument, with file and line.
absl::StatusOr<NamedEdges> ParseEdgeList(std::string_view text, std::string_view file);

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_EDGE_LIST_H_
