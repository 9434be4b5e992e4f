// Case 20: offsets and lengths beyond 2, 3 and 4 GiB.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/tools/weftrun/weftrun_process.h"

namespace weft {
namespace {

TEST(Case20LargeOffsets, ValuesSpansAndOnePutOfThreeGibibytes) {
  const uint64_t memory = static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) *
                          static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (memory < uint64_t{5} << 30) {
    GTEST_SKIP() << "needs 5 GiB of free memory, of which the put commits 3; there are "
                 << (memory >> 20) << " MiB";
  }
  WeftrunProcess process({.arguments = {"-n", "2", Runfile("tests/regression/large_program")}});
  const WeftrunResult result = process.Wait(Deadline::After(absl::Seconds(300)));
  EXPECT_EQ(result.code(), 0) << result.err;
}

}  // namespace
}  // namespace weft
