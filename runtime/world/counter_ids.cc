#include "runtime/world/counter_ids.h"

#include <bit>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace weft {

absl::StatusOr<uint32_t> CounterIds::Create(Deadline deadline) {
  std::array<uint64_t, kMaxCounters / 64> used;
  for (size_t i = 0; i < used.size(); ++i) used[i] = used_[i].load(std::memory_order_acquire);
  auto agreed = agreement_.Agree({.kind = CollectiveKind::kCreateCounter}, used, deadline);
  if (!agreed.ok()) return agreed.status();

  uint32_t id = 0;
  while (id < kMaxCounters && (agreed->any[id / 64] >> id % 64 & 1) != 0) ++id;
  if (id == kMaxCounters) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%u notification counters exist, as many as there can be: destroy some, on all ranks",
        kMaxCounters));
  }
  used_[id / 64].fetch_or(uint64_t{1} << id % 64, std::memory_order_release);
  notifications_.Open(id);
  // Nobody may raise it at a peer before that peer has opened it.
  if (absl::Status opened = agreement_.Barrier(deadline); !opened.ok()) {
    Release(id);
    return opened;
  }
  return id;
}

void CounterIds::Release(uint32_t id) {
  used_[id / 64].fetch_and(~(uint64_t{1} << id % 64), std::memory_order_release);
}

}  // namespace weft
