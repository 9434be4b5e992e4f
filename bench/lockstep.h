// Two ranks that time blocks of work together, ours and the reference's in turn.
// A block counts only if neither rank lost its cpu during it, as long as enough
// do: on a machine that is too busy for that, all of them count.
#ifndef WEFT_BENCH_LOCKSTEP_H_
#define WEFT_BENCH_LOCKSTEP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/measure.h"
#include "weft/weft.h"

namespace weft::bench {

// What a rank did in a block.
struct BlockWork {
  uint64_t operations = 0;  // By both ranks together, where both count the same.
  bool fair = true;         // False: drop the block.
};

using BlockFunction = absl::FunctionRef<absl::StatusOr<BlockWork>(uint64_t block)>;

// Collective of two ranks: runs `blocks` pairs of blocks, a barrier before each.
// The result, on rank 0, holds the pairs of which both blocks count; on rank 1
// nothing.
absl::StatusOr<Pairs> TimeInLockstep(World& world, uint64_t blocks, BlockFunction ours,
                                     BlockFunction reference);

// The figures of such pairs compare the tenth percentiles of the times.
Figure LockstepFigure(std::string name, std::string reference, const Pairs& pairs);

}  // namespace weft::bench
#endif  // WEFT_BENCH_LOCKSTEP_H_
