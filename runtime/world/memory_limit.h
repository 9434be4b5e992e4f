// How much memory this process may use at all.
#ifndef WEFT_RUNTIME_WORLD_MEMORY_LIMIT_H_
#define WEFT_RUNTIME_WORLD_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

namespace weft {

struct MemoryLimit {
  uint64_t bytes;
  std::string name;  // What limits it: the machine's memory, or the cgroup's file.
};

// The smaller of the machine's memory and the limit of this process's cgroup.
MemoryLimit ReadMemoryLimit();

}  // namespace weft
#endif  // WEFT_RUNTIME_WORLD_MEMORY_LIMIT_H_
