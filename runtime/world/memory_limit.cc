#include "runtime/world/memory_limit.h"

#include <unistd.h>

#include <fstream>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// The path of this process's cgroup: version 2's, else version 1's of `memory`.
std::string CgroupLimitFile() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  std::string version_1;
  while (std::getline(groups, line)) {
    const size_t path = line.rfind(':');
    if (path == std::string::npos) continue;
    if (line.starts_with("0::")) {
      const std::string file = absl::StrCat("/sys/fs/cgroup", line.substr(path + 1), "/memory.max");
      if (access(file.c_str(), R_OK) == 0) return file;
    }
    if (line.find(":memory:") != std::string::npos) {
      version_1 =
          absl::StrCat("/sys/fs/cgroup/memory", line.substr(path + 1), "/memory.limit_in_bytes");
    }
  }
  // In a container the group's own folder is mounted as the root.
  for (const char* file : {version_1.c_str(), "/sys/fs/cgroup/memory.max",
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (*file != '\0' && access(file, R_OK) == 0) return file;
  }
  return "";
}

}  // namespace

MemoryLimit ReadMemoryLimit() {
  MemoryLimit limit = {.bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                static_cast<uint64_t>(sysconf(_SC_PAGESIZE)),
                       .name = "the machine's memory"};
  const std::string file = CgroupLimitFile();
  uint64_t bytes = 0;
  // "max" is no number and so no limit.
  if (!file.empty() && std::ifstream(file) >> bytes && bytes < limit.bytes) {
    limit = {.bytes = bytes, .name = absl::StrCat("the memory limit of this cgroup (", file, ")")};
  }
  return limit;
}

}  // namespace weft
