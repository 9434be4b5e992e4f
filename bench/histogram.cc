// Random updates of a table over two ranks, as in HPCC RandomAccess: PostAdd
// beside the same loop on std::atomic, on the same tables.
//   weftrun -n 2 histogram
#include <atomic>
#include <cstdint>
#include <vector>

#include "bench/lockstep.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace {

using weft::bench::BlockWork;

constexpr uint64_t kTableBytes = 32 << 20;  // On each rank.
constexpr uint64_t kWords = kTableBytes / sizeof(uint64_t);
constexpr uint64_t kUpdates = 20'000;  // A block, of about half a millisecond.

// SplitMix64.
uint64_t Next(uint64_t& state) {
  uint64_t x = state += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

[[gnu::noinline]] void UpdateByPosts(const weft::Symmetric<uint64_t>& table, uint64_t state) {
  for (uint64_t i = 0; i < kUpdates; ++i) {
    const uint64_t random = Next(state);
    weft::PostAdd(table.at(random >> 63, random % kWords), 1);
  }
}

[[gnu::noinline]] void UpdateByAtomics(uint64_t* const* tables, uint64_t state) {
  for (uint64_t i = 0; i < kUpdates; ++i) {
    const uint64_t random = Next(state);
    std::atomic_ref<uint64_t>(tables[random >> 63][random % kWords]).fetch_add(1);
  }
}

absl::Status Run(weft::World& world, uint64_t blocks) {
  const auto table = WEFT_TRY(weft::Symmetric<uint64_t>::Create(world, kWords));
  std::vector<uint64_t*> tables;
  for (weft::Rank rank = 0; rank < world.size(); ++rank) {
    tables.push_back(weft::Local(table.at(rank)));
    // This process's page tables, which the updates are not to be charged for.
    for (uint64_t i = 0; i < kWords; i += 512) weft::PostAdd(table.at(rank, i), 1);
  }
  // No block updates the words that another has brought into the cache.
  const auto seed = [&](uint64_t block, uint64_t kind) {
    return (block * 2 + kind) << 32 | world.rank();
  };
  const auto pairs = WEFT_TRY(weft::bench::TimeInLockstep(
      world, blocks,
      [&](uint64_t block) -> absl::StatusOr<BlockWork> {
        UpdateByPosts(table, seed(block, 0));
        WEFT_TRY(weft::Flush());
        return BlockWork{.operations = kUpdates};
      },
      [&](uint64_t block) -> absl::StatusOr<BlockWork> {
        UpdateByAtomics(tables.data(), seed(block, 1));
        return BlockWork{.operations = kUpdates};
      }));
  if (world.rank() == 0) {
    weft::bench::Figure figure = weft::bench::LockstepFigure("histogram", "std::atomic", pairs);
    // Both ranks update at the same time.
    weft::bench::ToRate("Mupdates/s", world.size() * 1e-6, figure);
    Print(figure);
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t blocks = weft::bench::NumberFlag(argc, argv, "blocks", 400);
  return weft::Main([&](weft::World& world) { return Run(world, blocks); });
}
