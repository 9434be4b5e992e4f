// What a rank runs with: explicit options, else the environment, else defaults.
#ifndef WEFT_RUNTIME_WORLD_SETTINGS_H_
#define WEFT_RUNTIME_WORLD_SETTINGS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/node_fds.h"
#include "runtime/transport/verbs/verbs_options.h"
#include "weft/world.h"

namespace weft {

struct Settings {
  MemoryShape shape;
  absl::Duration deadline;
  absl::Duration wait_deadline;
  // WEFT_FAULT: delay, reorder and refuse what this rank does, from this seed.
  std::optional<uint64_t> fault_seed;
  // WEFT_TRANSPORTS: those that may be used.
  bool use_shm = true;
  bool use_verbs = true;
  bool use_tcp = true;
  // WEFT_VERBS_DEVICE, WEFT_ATOMICS, WEFT_VERBS_STRICT_FLUSH, WEFT_VERBS_CONNECT; not the secret.
  VerbsOptions verbs;
  // WEFT_INTERFACE: where TCP listens; an interface's name, or how its address starts.
  std::string interface;
};

// `environment` as getenv. kInvalidArgument names the option or variable and what
// it takes; kResourceExhausted when a slab is larger than the machine's memory.
absl::StatusOr<Settings> ResolveSettings(
    const World::Options& options, const std::function<const char*(const char*)>& environment);

}  // namespace weft
#endif  // WEFT_RUNTIME_WORLD_SETTINGS_H_
