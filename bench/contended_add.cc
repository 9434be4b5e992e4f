// Two ranks add to one word at the same time: FetchAdd beside std::atomic.
//   weftrun -n 2 contended_add
#include <cstdint>

#include "bench/access_loops.h"
#include "bench/lockstep.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace {

using weft::bench::BlockWork;

// Both ranks start within a microsecond: a block is some hundred times as long.
constexpr uint64_t kAdditions = 20'000;

// Each rank must have made a quarter of the additions, lest one ran mostly alone.
BlockWork Share(uint64_t mine) {
  return {.operations = kAdditions,
          .fair = mine >= kAdditions / 4 && mine <= kAdditions - kAdditions / 4};
}

absl::Status Run(weft::World& world, uint64_t blocks) {
  struct alignas(128) Line {
    uint64_t word;
  };
  // A word for each block, so that none needs to be reset.
  auto lines = WEFT_TRY(weft::Symmetric<Line>::Create(world, 2 * (blocks + 1)));
  const auto at = [&](uint64_t index) { return lines.at(0, index).As<uint64_t>(); };
  const auto pairs = WEFT_TRY(weft::bench::TimeInLockstep(
      world, blocks,
      [&](uint64_t block) -> absl::StatusOr<BlockWork> {
        return Share(weft::bench::FetchAddUntil(at(2 * block), kAdditions));
      },
      [&](uint64_t block) -> absl::StatusOr<BlockWork> {
        return Share(weft::bench::AtomicAddUntil(weft::Local(at(2 * block + 1)), kAdditions));
      }));
  if (world.rank() == 0) {
    Print(weft::bench::LockstepFigure("fadd_contended", "std::atomic", pairs));
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t blocks = weft::bench::NumberFlag(argc, argv, "blocks", 400);
  return weft::Main([&](weft::World& world) { return Run(world, blocks); });
}
