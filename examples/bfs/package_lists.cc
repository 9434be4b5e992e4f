#include "examples/bfs/package_lists.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "examples/bfs/read_file.h"

namespace bfs {
namespace {

constexpr std::string_view kListSuffix = "_Packages";
constexpr char kAptHelper[] = "/usr/lib/apt/apt-helper";

bool IsPackageList(std::string_view name) {
  const size_t suffix = name.rfind(kListSuffix);
  if (suffix == std::string_view::npos) return false;
  // Behind it, at most what says how it is compressed: ".lz4".
  const std::string_view behind = name.substr(suffix + kListSuffix.size());
  return behind.empty() || (behind.starts_with('.') && behind.find('.', 1) == behind.npos);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindPackageLists(const std::string& folder) {
  std::vector<std::string> lists;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (IsPackageList(it->path().filename().native()) && it->is_regular_file(error)) {
      lists.push_back(it->path().native());
    }
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder, ": ", error.message()));
  if (lists.empty()) {
    return absl::NotFoundError(
        absl::StrCat(folder, ": no package lists (*_Packages*); \"apt-get update\" fetches them"));
  }
  std::sort(lists.begin(), lists.end());
  return lists;
}

absl::StatusOr<std::string> ReadPackageList(const std::string& path) {
  if (path.ends_with(kListSuffix)) return ReadFile(path);
  return ReadCommand({kAptHelper, "cat-file", path});
}

}  // namespace bfs
