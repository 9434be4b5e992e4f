#include "bench/lockstep.h"

#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weft/try.h"

namespace weft::bench {
namespace {

struct Times {
  double ns[2] = {};  // An operation: ours, the reference.
  bool undisturbed = true;
};

absl::Status TimeBlock(World& world, uint64_t block, BlockFunction run, Times& times, int turn) {
  WEFT_TRY(world.Barrier());
  const uint64_t preemptions = Preemptions();
  const double start = Now();
  const BlockWork work = WEFT_TRY(run(block));
  const double end = Now();
  if (!work.fair || Preemptions() != preemptions) times.undisturbed = false;
  times.ns[turn] = (end - start) / static_cast<double>(work.operations);
  return absl::OkStatus();
}

Pairs Collect(std::span<const Times> zero, std::span<const Times> one, bool all) {
  Pairs pairs;
  for (size_t i = 0; i < zero.size(); ++i) {
    if (!all && !(zero[i].undisturbed && one[i].undisturbed)) continue;
    pairs.ours.push_back((zero[i].ns[0] + one[i].ns[0]) / 2);
    pairs.reference.push_back((zero[i].ns[1] + one[i].ns[1]) / 2);
  }
  return pairs;
}

}  // namespace

absl::StatusOr<Pairs> TimeInLockstep(World& world, uint64_t blocks, BlockFunction ours,
                                     BlockFunction reference) {
  if (world.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("this benchmark needs 2 ranks, not ", world.size(), ": use weftrun -n 2"));
  }
  // What rank 0 did, then what rank 1 did.
  auto results = WEFT_TRY(Symmetric<Times>::Create(world, 2 * blocks));
  // The first pair warms up.
  for (uint64_t b = 0; b <= blocks; ++b) {
    Times times;
    const int first = static_cast<int>(b % 2);
    for (const int turn : {first, 1 - first}) {
      WEFT_TRY(TimeBlock(world, b, turn == 0 ? ours : reference, times, turn));
    }
    if (b > 0) WEFT_TRY(Put(results.at(0, world.rank() * blocks + b - 1), times));
  }
  WEFT_TRY(world.Barrier());
  if (world.rank() != 0) return Pairs();
  const auto zero = results.mine().first(blocks), one = results.mine().last(blocks);
  Pairs undisturbed = Collect(zero, one, /*all=*/false);
  const bool enough = undisturbed.ours.size() * 10 >= blocks;
  return enough ? undisturbed : Collect(zero, one, /*all=*/true);
}

Figure LockstepFigure(std::string name, std::string reference, const Pairs& pairs) {
  Figure figure = TimeFigure(std::move(name), std::move(reference), pairs);
  figure.value = Quantile(pairs.ours, 0.1);
  figure.value_quartile = figure.value;
  figure.reference_value = Quantile(pairs.reference, 0.1);
  figure.ratio = figure.value / figure.reference_value;
  return figure;
}

}  // namespace weft::bench
