// Whole files, and the output of whole commands, as strings.
#ifndef WEFT_EXAMPLES_BFS_READ_FILE_H_
#define WEFT_EXAMPLES_BFS_READ_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bfs {

// Errors name the file and say why.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// What `command` (program and arguments, no shell) writes to its standard
// output. An error when it cannot be started or does not exit with 0.
absl::StatusOr<std::string> ReadCommand(const std::vector<std::string>& command);

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_READ_FILE_H_
