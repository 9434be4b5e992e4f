// A rank of two with slabs of 6 GiB, of which little is touched: values around
// the offsets where 31 and 32-bit sums end, and one put of 3 GiB.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/try.h"
#include "weft/weft.h"

namespace weft {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

absl::Status Values(World& world, const Symmetric<std::byte>& table) {
  const Rank other = 1 - world.rank();
  for (const uint64_t base : {kGiB * 2 - 4, kGiB * 2 + 4, kGiB * 4 - 4, kGiB * 4 + 8}) {
    const auto at = table.at(other, base).As<uint32_t>();
    const uint32_t value = static_cast<uint32_t>(base / 4) + other;
    WEFT_TRY(Put(at, value));
    const uint32_t before = WEFT_TRY(FetchAdd(at, 1u));
    if (before != value || WEFT_TRY(Get(at)) != value + 1) {
      return absl::InternalError("a value at a large offset is wrong");
    }
    // Across the boundary.
    const uint64_t words[2] = {base, ~base};
    uint64_t back[2] = {};
    WEFT_TRY(Put(at.As<uint64_t>(24), words));
    WEFT_TRY(Get(at.As<uint64_t>(24), back));
    if (back[0] != words[0] || back[1] != words[1]) {
      return absl::InternalError("a span at a large offset is wrong");
    }
  }
  WEFT_TRY(world.Barrier());
  for (const uint64_t base : {kGiB * 2 - 4, kGiB * 2 + 4, kGiB * 4 - 4, kGiB * 4 + 8}) {
    const uint32_t mine = *reinterpret_cast<const uint32_t*>(&table.mine()[base]);
    if (mine != static_cast<uint32_t>(base / 4) + world.rank() + 1) {
      return absl::InternalError("a value went elsewhere");
    }
  }
  return world.Barrier();
}

absl::Status LargePut(World& world, const Symmetric<std::byte>& table) {
  constexpr uint64_t kBytes = 3 * kGiB;
  constexpr uint64_t kOffset = kGiB + 16;
  auto arrived = WEFT_TRY(NotificationCounter::Create(world));
  if (world.rank() == 0) {
    // Zeros that cost nothing, but for the last byte.
    void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return absl::ResourceExhaustedError("no room for the source");
    // Hints, which save most of a million page faults.
    madvise(memory, kBytes, MADV_HUGEPAGE);
    madvise(Local(table.at(1, kGiB)), kBytes + 4096, MADV_POPULATE_WRITE);
    const std::span source(static_cast<std::byte*>(memory), kBytes);
    source.back() = std::byte{0x5a};
    PostPut(table.at(1, kOffset), source, arrived);
    WEFT_TRY(Flush(1));
    munmap(memory, kBytes);
  } else {
    WEFT_TRY(arrived.Wait(1));
    if (table.mine()[kOffset + kBytes - 1] != std::byte{0x5a} ||
        table.mine()[kOffset + kBytes] != std::byte{0}) {
      return absl::InternalError("the last byte was not there at the notification");
    }
  }
  return world.Barrier();
}

absl::Status Run(World& world) {
  const auto table = WEFT_TRY(Symmetric<std::byte>::Create(world, 4 * kGiB + 4096));
  WEFT_TRY(LargePut(world, table));
  return Values(world, table);
}

}  // namespace
}  // namespace weft

int main() { return weft::Main(weft::Run, {.heap_bytes = 6 * weft::kGiB}); }
