#include "runtime/world/symmetric_heap.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace weft {

absl::StatusOr<SymmetricHeap::Object> SymmetricHeap::Create(uint64_t count, uint64_t size,
                                                            uint64_t alignment, Deadline deadline) {
  const CollectiveCall call = {.kind = CollectiveKind::kCreateSymmetric,
                               .arguments = {count, size}};
  std::optional<uint32_t> id = ready_.unfinished();
  if (!id.has_value()) {
    auto placed = Place(call, alignment, deadline);
    if (!placed.ok()) return placed.status();
    if (placed->dirty == 0) return placed->object;
    id = placed->object.id;
    std::memset(node_.slab(node_.rank) + placed->object.offset, 0, placed->dirty);
  }
  if (absl::Status cleared = ready_.Meet(call, *id, deadline); !cleared.ok()) {
    if (!ready_.unfinished().has_value()) Release(*id);
    return cleared;
  }
  return Object{.id = *id, .offset = objects_.at(*id)};
}

absl::StatusOr<SymmetricHeap::Placed> SymmetricHeap::Place(const CollectiveCall& call,
                                                           uint64_t alignment, Deadline deadline) {
  AgreementBitmap released;
  for (size_t i = 0; i < released.size(); ++i) {
    released[i] = released_[i].load(std::memory_order_acquire);
  }
  auto agreed = agreement_.Agree(call, released, deadline);
  if (!agreed.ok()) {
    const bool arrived =
        absl::IsUnavailable(agreed.status()) || absl::IsDeadlineExceeded(agreed.status());
    // After the first that is kUnavailable none arrives any more.
    if (arrived && !asked_) asked_ = Asked{call, alignment};
    return agreed.status();
  }
  asked_.reset();
  return PlaceAgreed({call, alignment}, *agreed);
}

void SymmetricHeap::GoOn(const std::optional<Agreement::Result>& result) {
  if (const auto id = ready_.Drop()) Release(*id);
  const auto asked = std::exchange(asked_, std::nullopt);
  if (!asked || !result || result->call != asked->call) return;
  // Where it did not fit, it did not fit on any rank.
  const auto placed = PlaceAgreed(*asked, result->agreed);
  if (placed.ok()) Release(placed->object.id);
}

absl::StatusOr<SymmetricHeap::Placed> SymmetricHeap::PlaceAgreed(const Asked& asked,
                                                                 const AgreedBitmaps& agreed) {
  for (auto it = objects_.begin(); it != objects_.end();) {
    const auto [id, offset] = *it;
    const uint64_t bit = uint64_t{1} << id % 64;
    if ((agreed.all[id / 64] & bit) == 0) {
      ++it;
      continue;
    }
    if (absl::Status freed = arena_.Free(offset); !freed.ok()) return freed;
    released_[id / 64].fetch_and(~bit, std::memory_order_release);
    it = objects_.erase(it);
  }
  uint32_t id = 0;
  for (const auto& [used, offset] : objects_) {
    if (used != id) break;
    ++id;
  }
  if (id == kMaxSymmetricObjects) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("%u symmetric objects exist, as many as there can be: destroy some, on all "
                        "ranks, or create larger ones",
                        kMaxSymmetricObjects));
  }
  const auto [count, size] = asked.call.arguments;
  uint64_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = UINT64_MAX;
  auto block = arena_.Allocate(bytes, asked.alignment);
  if (!block.ok()) {
    return absl::Status(block.status().code(),
                        absl::StrCat("Symmetric::Create of ", count, " objects of ", size,
                                     " bytes: ", block.status().message(),
                                     "; raise World::Options::heap_bytes (WEFT_HEAP_BYTES)"));
  }
  objects_[id] = block->offset;
  return Placed{.object = {.id = id, .offset = block->offset}, .dirty = block->dirty};
}

void SymmetricHeap::Release(uint32_t id) {
  released_[id / 64].fetch_or(uint64_t{1} << id % 64, std::memory_order_release);
}

}  // namespace weft
