#include "runtime/world/memory_limit.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// Lowers `limit` to that of the cgroup at `path`, and of those that it is in: up to the
// root, where in a container the group's own folder is mounted.
void LowerTo(const std::string& root, std::string path, const char* file, MemoryLimit& limit) {
  for (;;) {
    const std::string name = absl::StrCat(root, path, "/", file);
    uint64_t bytes = 0;
    // "max" is no number and so no limit.
    if (std::ifstream(name) >> bytes && bytes < limit.bytes) {
      limit = {.bytes = bytes, .name = absl::StrCat("the memory limit of a cgroup (", name, ")")};
    }
    if (path.empty()) return;
    path.resize(path.rfind('/'));
  }
}

}  // namespace

MemoryLimit ReadMemoryLimit() {
  MemoryLimit limit = {.bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                static_cast<uint64_t>(sysconf(_SC_PAGESIZE)),
                       .name = "the machine's memory"};
  // Lines "ID:CONTROLLERS:/PATH"; version 2 has ID 0 and no controllers.
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    const size_t colon = line.find(':', line.find(':') + 1);
    if (colon == std::string::npos || line.substr(colon + 1, 1) != "/") continue;
    const std::string path = line.substr(colon + 1);
    if (line.starts_with("0::")) LowerTo("/sys/fs/cgroup", path, "memory.max", limit);
    if (line.find(":memory:") != std::string::npos) {
      LowerTo("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", limit);
    }
  }
  return limit;
}

}  // namespace weft
