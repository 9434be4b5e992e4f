// A rank that is stopped (SIGSTOP) at a seeded moment (WEFT_SEEDS=N for more)
// holds up no call beyond its deadline: the others are told which rank is
// missing, one-sided operations on it go on, and once it continues the same call
// completes. In Join and Leave, which cannot be made again, the others end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "tests/tools/weftrun/weftrun_process.h"
#include "tests/world/rank_report.h"
#include "weft/rank.h"

namespace weft::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Rank kRanks = 4;
// Of the join too, which a busy machine must manage in this time.
constexpr char kDeadline[] = "WEFT_WAIT_DEADLINE=3s";

int Seeds(int few) {
  const char* seeds = std::getenv("WEFT_SEEDS");
  return seeds == nullptr ? few : std::atoi(seeds);
}

class StopTest : public ::testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(StopTest, TheOthersAreToldAndTheSameCallCompletes) {
  const auto& [work, faults] = GetParam();
  for (int seed = 0; seed < Seeds(1); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string number = std::to_string(seed);
    std::vector<std::string> arguments = {"--timeout", "60",     "-n", std::to_string(kRanks),
                                          "-x",        kDeadline};
    if (faults) arguments.insert(arguments.end(), {std::string("-x"), "WEFT_FAULT=" + number});
    arguments.insert(arguments.end(),
                     {Runfile("tests/world/stop_program"), std::string(work), number});
    WeftrunProcess process({.arguments = arguments});
    const WeftrunResult result = process.Wait(Deadline::After(absl::Seconds(70)));
    ASSERT_EQ(result.code(), 0) << result.out << result.err;
    const std::vector<Report> reports = ParseReports(result.out);
    for (const Report& report : ReportsOf(reports, "wrong")) ADD_FAILURE() << report.what;
    EXPECT_EQ(ReportsOf(reports, "done").size(), kRanks);
    for (Rank rank = 0; rank + 1 < kRanks; ++rank) {
      const std::vector<Report> told = ReportsOf(reports, std::to_string(rank));
      ASSERT_EQ(told.size(), 1u) << "of rank " << rank << "; " << result.out;
      EXPECT_THAT(told[0].what, StartsWith("DEADLINE_EXCEEDED: "));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Work, StopTest,
                         ::testing::Combine(::testing::Values("barrier", "create", "create_counter",
                                                              "notify", "signal"),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "_fault" : "");
                         });

class StopEndsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(StopEndsTest, TheOthersAreToldAndTheJobEnds) {
  const std::string call = GetParam();
  for (int seed = 0; seed < Seeds(3); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WeftrunProcess process(
        {.arguments = {"--timeout", "5", "-n", std::to_string(kRanks), "-x",
                       "WEFT_WAIT_DEADLINE=2s", Runfile("tests/world/stop_ends_program"), call,
                       std::to_string(seed)}});
    const WeftrunResult result = process.Wait(Deadline::After(absl::Seconds(30)));
    ASSERT_TRUE(result.ended) << result.out << result.err;
    EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(5)))) << process.Describe();
    const std::vector<Report> reports = ParseReports(result.out);
    bool left = true, told_of_3 = false;
    for (Rank rank = 0; rank + 1 < kRanks; ++rank) {
      const std::vector<Report> told = ReportsOf(reports, std::to_string(rank));
      ASSERT_EQ(told.size(), 1u) << "of rank " << rank << "; " << result.out << result.err;
      // A rank that stopped at the end of its Leave has left.
      if (call == "leave" && told[0].what == "OK") continue;
      left = false;
      // Who gives up first is gone for those who give up next.
      EXPECT_THAT(told[0].what, AnyOf(AllOf(StartsWith("DEADLINE_EXCEEDED: "), HasSubstr("rank 3")),
                                      AllOf(StartsWith("UNAVAILABLE: "), HasSubstr("exited"))))
          << "of rank " << rank;
      told_of_3 |= told[0].what.starts_with("DEADLINE_EXCEEDED: ");
    }
    EXPECT_TRUE(left || told_of_3);
    // Nobody failed, but rank 3 has not ended.
    EXPECT_EQ(result.code(), left ? 124 : 3) << result.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Call, StopEndsTest, ::testing::Values("join", "leave"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weft::testing
