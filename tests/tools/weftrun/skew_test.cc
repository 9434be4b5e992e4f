// Join and leave with random skew, 200 times: no launch hangs or fails.
#include <gtest/gtest.h>

#include "tests/tools/weftrun/weftrun_process.h"

namespace weft {
namespace {

constexpr int kLaunches = 50;  // In each of four shards.

class SkewTest : public testing::TestWithParam<int> {};

TEST_P(SkewTest, JoinAndLeave) {
  for (int launch = 0; launch < kLaunches; ++launch) {
    WeftrunProcess process({.arguments = {"-n", "4", TestRankPath(), "skew=20", "join",
                                          "share=1048576", "fence", "skew=20", "leave"}});
    const WeftrunResult result = process.Wait(Deadline::After(absl::Seconds(100)));
    ASSERT_EQ(result.code(), 0) << "launch " << launch << ": " << result.out << result.err;
    ASSERT_EQ(result.out + result.err, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, SkewTest, testing::Range(0, 4));

}  // namespace
}  // namespace weft
