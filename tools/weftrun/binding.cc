#include "tools/weftrun/binding.h"

#include <errno.h>
#include <sched.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace weft {

std::vector<int> AllowedCpus() {
  // The kernel refuses a set that is smaller than its own.
  for (int size = CPU_SETSIZE; size <= 1 << 20; size *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(size),
                                                               [](cpu_set_t* s) { CPU_FREE(s); });
    const size_t bytes = CPU_ALLOC_SIZE(size);
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(0, bytes, set.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < size; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set.get())) cpus.push_back(cpu);
    }
    return cpus;
  }
  return {};
}

std::vector<int> CpusOf(Rank rank, Rank ranks, Options::Binding binding,
                        const std::vector<int>& allowed) {
  if (binding == Options::Binding::kNone || allowed.empty()) return {};
  const size_t cpus = allowed.size();
  const size_t begin = rank * cpus / ranks;
  size_t end = (rank + size_t{1}) * cpus / ranks;
  if (end == begin || binding == Options::Binding::kCpu) end = begin + 1;
  return std::vector<int>(allowed.begin() + static_cast<ptrdiff_t>(begin),
                          allowed.begin() + static_cast<ptrdiff_t>(end));
}

std::string CpuList(const std::vector<int>& cpus) {
  if (cpus.empty()) return "any";
  std::string list;
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    absl::StrAppend(&list, list.empty() ? "" : ",", cpus[i]);
    if (last > i) absl::StrAppend(&list, "-", cpus[last]);
    i = last + 1;
  }
  return list;
}

}  // namespace weft
