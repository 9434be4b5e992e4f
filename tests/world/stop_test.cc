// A rank that is stopped (SIGSTOP) at a seeded moment (WEFT_SEEDS=N for more)
// holds up no call beyond its deadline: the others are told which rank is
// missing, one-sided operations on it go on, and once it continues the same call
// completes.
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

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Rank kRanks = 4;
// Of the join too, which a busy machine must manage in this time.
constexpr char kDeadline[] = "WEFT_WAIT_DEADLINE=3s";

int Seeds() {
  const char* seeds = std::getenv("WEFT_SEEDS");
  return seeds == nullptr ? 1 : std::atoi(seeds);
}

class StopTest : public ::testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(StopTest, TheOthersAreToldAndTheSameCallCompletes) {
  const auto& [work, faults] = GetParam();
  for (int seed = 0; seed < Seeds(); ++seed) {
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

}  // namespace
}  // namespace weft::testing
