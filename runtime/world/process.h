// The one place for what a process has once: its inline path.
#ifndef WEFT_RUNTIME_WORLD_PROCESS_H_
#define WEFT_RUNTIME_WORLD_PROCESS_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "weft/internal/reach.h"

namespace weft::internal {

// Lets inlined code use `opened`; a forked child loses it. Join and Leave call
// these, while no other thread uses Weft.
void OpenInlinePath(const Reach& opened);
// Closes it if it is `runtime`'s.
void CloseInlinePath(const Runtime* runtime);

// What a call gets while there is no runtime.
absl::Status NotJoined();

// How often this process was forked off from one that uses Weft: what a Runtime
// of another generation belongs to is the parent.
extern std::atomic<uint64_t> fork_generation;
inline uint64_t ForkGeneration() { return fork_generation.load(std::memory_order_relaxed); }

}  // namespace weft::internal
#endif  // WEFT_RUNTIME_WORLD_PROCESS_H_
