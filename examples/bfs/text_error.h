// Errors in text files, as compilers write them: "graph.txt:17: what is wrong".
#ifndef WEFT_EXAMPLES_BFS_TEXT_ERROR_H_
#define WEFT_EXAMPLES_BFS_TEXT_ERROR_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace bfs {

// kInvalidArgument.
absl::Status ErrorAtLine(std::string_view file, size_t line, std::string_view what);

// `text` in double quotes, fit for one line of a message: what is not printable
// is escaped, what is long is cut.
std::string Quoted(std::string_view text);

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_TEXT_ERROR_H_
