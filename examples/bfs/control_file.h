// Debian control data (deb-control(5)): stanzas of "Field: value" lines, and the
// relationship fields in them.
#ifndef WEFT_EXAMPLES_BFS_CONTROL_FILE_H_
#define WEFT_EXAMPLES_BFS_CONTROL_FILE_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfs {

// Looks into the text that was parsed.
struct ControlField {
  std::string_view name;
  std::string_view value;  // With the line ends between its lines, if it has several.
  size_t line;             // The one that it begins on.

  // Names of fields do not tell upper case from lower.
  bool Is(std::string_view other) const;
};

// Calls `use` with the fields of each stanza of `text`. Stops at the first error:
// `use`'s, or kInvalidArgument with `file` and the line.
absl::Status ForEachStanza(std::string_view text, std::string_view file,
                           absl::FunctionRef<absl::Status(std::span<const ControlField>)> use);

// The packages that a field such as Depends or Provides names, the alternatives
// of "a | b" each by itself. Versions, architectures and profiles are left out.
absl::StatusOr<std::vector<std::string_view>> ParsePackageNames(const ControlField& field,
                                                                std::string_view file);

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_CONTROL_FILE_H_
