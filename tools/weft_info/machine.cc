#include "tools/weft_info/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/transport/verbs/pinning.h"
#include "runtime/world/memory_limit.h"

namespace weft {
namespace {

// A value of /proc/meminfo.
uint64_t MemInfo(absl::string_view name) {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    if (absl::StartsWith(line, absl::StrCat(name, ":"))) {
      return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10);
    }
  }
  return 0;
}

// What is chosen, in brackets, in a file of the kernel's settings of transparent huge pages.
std::string ChosenIn(absl::string_view setting) {
  std::ifstream file(absl::StrCat("/sys/kernel/mm/transparent_hugepage/", setting));
  std::string word;
  while (file >> word) {
    if (word.front() == '[') return word.substr(1, word.size() - 2);
  }
  return "not there";
}

}  // namespace

void AddMachine(Report& report) {
  Document& machine = report.facts["machine"];
  utsname name = {};
  uname(&name);
  machine["host"] = name.nodename;
  machine["kernel"] = absl::StrCat(name.sysname, " ", name.release, " ", name.machine);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  machine["cpus"] = {{"allowed", CPU_COUNT(&allowed)}, {"online", sysconf(_SC_NPROCESSORS_ONLN)}};
  const MemoryLimit memory = ReadMemoryLimit();
  machine["memory_bytes"] = memory.bytes;
  machine["memory_limit"] = memory.name;
  machine["page_bytes"] = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  machine["huge_pages"] = {{"size_bytes", MemInfo("Hugepagesize") << 10},
                           {"total", MemInfo("HugePages_Total")},
                           {"free", MemInfo("HugePages_Free")},
                           {"transparent", ChosenIn("enabled")},
                           {"transparent_in_shared_memory", ChosenIn("shmem_enabled")}};
  const PinningLimits pinning = PinningLimits::OfThisProcess();
  Document& locked = machine["locked_memory"];
  if (pinning.lockable == PinningLimits::kNone) {
    locked["limit"] = "none";
  } else {
    locked["limit_bytes"] = pinning.lockable;
    locked["lifted_by_CAP_IPC_LOCK"] = pinning.exempt;
  }
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  machine["open_files"] = {{"limit", files.rlim_cur}, {"at_most", files.rlim_max}};
}

}  // namespace weft
