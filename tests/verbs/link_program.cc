// A rank of two whose link, or device, fails under it: link_program SECONDS.
//
// Each rank operates on the other until SECONDS have passed or an operation fails; it then tells
// how that ended and what the next operation says, and leaves.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/world/rank_report.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace weft::testing {
namespace {

constexpr size_t kBlock = 64 * 1024 / 8;

// One of each. The words of the other rank are this rank's own to write.
absl::Status Round(const Symmetric<uint64_t>& words, Rank other, uint64_t round,
                   std::vector<uint64_t>& block) {
  const auto value = words.at(other, 0);
  WEFT_TRY(Put(value, round));
  if (WEFT_TRY(Get(value)) != round) return absl::InternalError("a put value is not there");
  const uint64_t before = WEFT_TRY(FetchAdd(words.at(other, 1), 1));
  if (before != round) return absl::InternalError("an addition was lost, or made twice");
  for (size_t i = 0; i < kBlock; ++i) block[i] = round * 1'000'003 + i;
  const auto at = words.at(other, 8);
  WEFT_TRY(Put(at, block));
  std::vector<uint64_t> back(kBlock);
  WEFT_TRY(Get(at, back));
  return back == block ? absl::OkStatus() : absl::InternalError("a block is not what was put");
}

absl::Status Run(World& world, absl::Duration time) {
  const Rank other = 1 - world.rank();
  const std::string me = std::to_string(world.rank());
  const auto words = WEFT_TRY(Symmetric<uint64_t>::Create(world, kBlock + 8));
  std::vector<uint64_t> block(kBlock);
  WEFT_TRY(world.Barrier());
  const absl::Time end = absl::Now() + time;
  absl::Status status;
  uint64_t rounds = 0;
  Tell(me, "runs");
  absl::Duration longest;
  for (absl::Time now = absl::Now(); status.ok() && now < end; ++rounds) {
    status = Round(words, other, rounds, block);
    const absl::Time before = std::exchange(now, absl::Now());
    longest = std::max(longest, now - before);
  }
  Tell(me, absl::StrCat("ended: ", status.ToString(), " after ", rounds,
                        " rounds; the longest took ", absl::ToInt64Milliseconds(longest), " ms"));
  if (!status.ok()) Tell(me, absl::StrCat("next: ", Round(words, other, rounds, block).ToString()));
  return absl::OkStatus();
}

}  // namespace
}  // namespace weft::testing

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto world = weft::World::Join({.heap_bytes = 8 << 20});
  absl::Status status = world.status();
  if (status.ok()) {
    status = weft::testing::Run(*world, absl::Seconds(std::atoi(argv[1])));
    (void)world->Leave();  // Which tells of a lost rank once more.
  }
  if (status.ok()) return 0;
  weft::testing::TellWrong(status.ToString());
  return 1;
}
