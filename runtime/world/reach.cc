// The process-wide state: what the inline path knows, and what fork does to it.
#include "weft/internal/reach.h"

#include <pthread.h>

#include <mutex>

#include "absl/time/clock.h"
#include "runtime/base/deadline.h"
#include "runtime/world/process.h"

namespace weft::internal {

// Not const: a table of zeros in the program's file would be half a megabyte.
std::atomic<uint64_t> no_limits[65536];
const std::atomic<uint32_t> always_unsettled = 1;
constinit Reach reach;

namespace {

// In a forked child nothing is reached: two writers would be one rank. The
// runtime stays, to say why.
void CloseInChild() {
  fork_generation.fetch_add(1, std::memory_order_relaxed);
  Runtime* const runtime = reach.runtime;
  reach = Reach();
  reach.runtime = runtime;
}

}  // namespace

std::atomic<uint64_t> fork_generation = 0;

absl::Status NotJoined() {
  return absl::FailedPreconditionError(
      "this process has not joined a job, or has left it: call weft::World::Join first");
}

void OpenInlinePath(const Reach& opened) {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, CloseInChild); });
  reach = opened;
}

void CloseInlinePath(const Runtime* runtime) {
  if (reach.runtime == runtime) reach = Reach();
}

int64_t MonotonicNanosAt(absl::Time deadline) {
  // 0 stands for the default.
  const Deadline at = Deadline::After(deadline - absl::Now());
  return at.monotonic_nanos() == 0 ? 1 : at.monotonic_nanos();
}

}  // namespace weft::internal
