#include "runtime/world/counter_ids.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace weft {
namespace {

constexpr CollectiveCall kCreate = {.kind = CollectiveKind::kCreateCounter};

}  // namespace

absl::StatusOr<uint32_t> CounterIds::Create(Deadline deadline) {
  std::optional<uint32_t> id = ready_.unfinished();
  if (!id.has_value()) {
    auto opened = Open(deadline);
    if (!opened.ok()) return opened.status();
    id = *opened;
  }
  if (absl::Status all_opened = ready_.Meet(kCreate, *id, deadline); !all_opened.ok()) {
    if (!ready_.unfinished().has_value()) Release(*id);
    return all_opened;
  }
  return *id;
}

absl::StatusOr<uint32_t> CounterIds::Open(Deadline deadline) {
  std::array<uint64_t, kMaxCounters / 64> used;
  for (size_t i = 0; i < used.size(); ++i) used[i] = used_[i].load(std::memory_order_acquire);
  auto agreed = agreement_.Agree(kCreate, used, deadline);
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
  return id;
}

void CounterIds::Release(uint32_t id) {
  used_[id / 64].fetch_and(~(uint64_t{1} << id % 64), std::memory_order_release);
}

}  // namespace weft
