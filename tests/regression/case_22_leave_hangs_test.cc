// Case 22: joins and leaves that hang now and then. Launches of four ranks that
// start and leave up to 50 ms apart, in a row; tests/tools/weftrun/skew_test does
// the same below the World, more often.
#include <gtest/gtest.h>

#include "tests/tools/weftrun/weftrun_process.h"

namespace weft {
namespace {

constexpr int kLaunches = 50;  // In each of four shards.

class Case22LeaveHangs : public testing::TestWithParam<int> {};

TEST_P(Case22LeaveHangs, NoLaunchHangsOrFails) {
  for (int launch = 0; launch < kLaunches; ++launch) {
    WeftrunProcess process({.arguments = {"-n", "4", Runfile("tests/world/life_program"), "skew"}});
    const WeftrunResult result = process.Wait(Deadline::After(absl::Seconds(60)));
    ASSERT_EQ(result.code(), 0) << "launch " << launch << ": " << result.out << result.err;
    ASSERT_EQ(result.out + result.err, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, Case22LeaveHangs, testing::Range(0, 4));

}  // namespace
}  // namespace weft
