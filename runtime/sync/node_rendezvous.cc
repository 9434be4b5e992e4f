#include "runtime/sync/node_rendezvous.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

CollectiveCall ReadCall(const CollectiveEntry& entry) {
  return {.kind = static_cast<CollectiveKind>(entry.kind.load(std::memory_order_relaxed)),
          .arguments = {entry.arguments[0].load(std::memory_order_relaxed),
                        entry.arguments[1].load(std::memory_order_relaxed)}};
}

void WriteCall(const CollectiveCall& call, CollectiveEntry& entry) {
  entry.kind.store(static_cast<uint64_t>(call.kind), std::memory_order_relaxed);
  entry.arguments[0].store(call.arguments[0], std::memory_order_relaxed);
  entry.arguments[1].store(call.arguments[1], std::memory_order_relaxed);
}

}  // namespace

NodeRendezvous::NodeRendezvous(const NodeView& node, Progress progress, uint32_t configured_cpus)
    : node_(node), barrier_(node, std::move(progress), configured_cpus) {}

absl::Status NodeRendezvous::Meet(const CollectiveCall& call, const AgreementBitmap* bitmap,
                                  WaitLimit limit, AgreedBitmaps* agreed) {
  const uint64_t generation = barrier_.generation();
  if (!barrier_.arrived()) {
    CollectiveEntry& mine = barrier_.entry();
    WriteCall(call, mine);
    if (bitmap != nullptr) {
      for (size_t i = 0; i < bitmap->size(); ++i) {
        mine.bitmap[i].store((*bitmap)[i], std::memory_order_relaxed);
      }
      barrier_.RequireComparison();
    }
  }
  bool compare = false;
  if (absl::Status status = barrier_.Enter(limit, compare); !status.ok()) return status;
  if (!compare && bitmap == nullptr) [[likely]]
    return absl::OkStatus();
  // Until this rank arrives again, no entry of this slot is overwritten.
  if (absl::Status status = Compare(generation % 2, generation); !status.ok()) return status;
  if (bitmap != nullptr) Combine(generation % 2, *agreed);
  return absl::OkStatus();
}

// Compares all with rank 0, so that every rank comes to the same verdict.
absl::Status NodeRendezvous::Compare(size_t slot, uint64_t generation) const {
  const CollectiveCall expected = ReadCall(node_.control(0).entries[slot]);
  for (Rank r = 0; r < node_.size; ++r) {
    const CollectiveEntry& entry = node_.control(r).entries[slot];
    if (entry.generation.load(std::memory_order_relaxed) != generation) {
      return absl::InternalError(
          absl::StrCat("collective call ", generation, ": the entry of rank ", r,
                       " was overwritten; look for a rank that writes outside of its objects"));
    }
    const CollectiveCall actual = ReadCall(entry);
    if (actual != expected) return MismatchError(r, actual, 0, expected);
  }
  return absl::OkStatus();
}

void NodeRendezvous::Combine(size_t slot, AgreedBitmaps& agreed) const {
  agreed.all.fill(~uint64_t{0});
  agreed.any.fill(0);
  for (Rank r = 0; r < node_.size; ++r) {
    const CollectiveEntry& entry = node_.control(r).entries[slot];
    for (size_t i = 0; i < agreed.all.size(); ++i) {
      const uint64_t word = entry.bitmap[i].load(std::memory_order_relaxed);
      agreed.all[i] &= word;
      agreed.any[i] |= word;
    }
  }
}

}  // namespace weft
