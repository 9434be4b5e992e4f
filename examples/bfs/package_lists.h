// Debian's package lists as apt keeps them, found and read whatever they are
// compressed with: apt's own helper reads those that are.
#ifndef WEFT_EXAMPLES_BFS_PACKAGE_LISTS_H_
#define WEFT_EXAMPLES_BFS_PACKAGE_LISTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bfs {

inline constexpr char kAptLists[] = "/var/lib/apt/lists";
inline constexpr char kDpkgStatus[] = "/var/lib/dpkg/status";

// The lists of packages in `folder`, sorted. kNotFound when there are none.
absl::StatusOr<std::vector<std::string>> FindPackageLists(const std::string& folder);

// The text of the list `path`.
absl::StatusOr<std::string> ReadPackageList(const std::string& path);

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_PACKAGE_LISTS_H_
