// Rule 8 of the memory model, and case 21: one rank is killed at a seeded moment
// (WEFT_SEEDS=N for more) while all do the same work. Every survivor is told, in
// time, who died and how; the job ends with the victim's status, and nothing is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/tools/weftrun/weftrun_process.h"
#include "tests/world/rank_report.h"
#include "weft/rank.h"

namespace weft::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr Rank kRanks = 4;
// 100 ms are promised; a machine that is busy with something else takes longer.
constexpr double kBoundSeconds = 1.4;
// RDMA is a soft device's, in a guest.
constexpr double kBoundSecondsOverVerbs = 10;

int Seeds() {
  const char* seeds = std::getenv("WEFT_SEEDS");
  return seeds == nullptr ? 3 : std::atoi(seeds);
}

std::string LastLine(const std::string& text) {
  if (text.empty()) return "";
  const size_t begin = text.rfind('\n', text.size() - 2);
  return text.substr(begin == std::string::npos ? 0 : begin + 1);
}

// What the ranks do, and whether their operations are delayed.
class DeathTest : public ::testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(DeathTest, SurvivorsAreToldWhoDiedAndHow) {
  const auto& [work, faults] = GetParam();
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  double worst = 0;
  for (int seed = 0; seed < Seeds(); ++seed) {
    const Rank victim = static_cast<Rank>(seed) % kRanks;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::vector<std::string> arguments = {"--timeout", "60", "-n", std::to_string(kRanks)};
    const std::string number = std::to_string(seed);
    if (faults) arguments.insert(arguments.end(), {std::string("-x"), "WEFT_FAULT=" + number});
    if (OverVerbs()) arguments.push_back(Runfile("tests/verbs/over_verbs"));
    arguments.insert(arguments.end(), {Runfile("tests/world/death_program"), std::string(work),
                                       std::to_string(victim), number});
    WeftrunProcess process({.arguments = arguments});
    const WeftrunResult result = process.Wait(Deadline::After(absl::Seconds(70)));
    ASSERT_EQ(result.code(), 137) << result.out << result.err;
    EXPECT_THAT(LastLine(result.err),
                MatchesRegex("weftrun: rank " + std::to_string(victim) + " on " + host +
                             " \\(pid [0-9]+\\) was killed by signal 9 \\(Killed\\); the job was "
                             "ended\n"));
    EXPECT_TRUE(process.Processes().empty()) << "something of the job is left";

    const std::vector<Report> reports = ParseReports(result.out);
    for (const Report& report : ReportsOf(reports, "wrong")) ADD_FAILURE() << report.what;
    const std::vector<Report> death = ReportsOf(reports, "victim");
    ASSERT_EQ(death.size(), 1u) << result.out << result.err;
    for (Rank rank = 0; rank < kRanks; ++rank) {
      if (rank == victim) continue;
      const std::vector<Report> told = ReportsOf(reports, std::to_string(rank));
      ASSERT_EQ(told.size(), 1u) << "of rank " << rank << "; " << result.out << result.err;
      const std::string& what = told[0].what;
      // Who leaves need not notice that another one dies, or had left before.
      if (std::string(work) == "leave" && what == "OK") continue;
      EXPECT_THAT(what, StartsWith("UNAVAILABLE: "));
      EXPECT_THAT(what, HasSubstr("rank " + std::to_string(victim)));
      if (!OverVerbs() || what.find("cannot be reached any more") == std::string::npos) {
        EXPECT_THAT(what, HasSubstr("killed by signal 9"));
      }
      const double seconds = static_cast<double>(told[0].when - death[0].when) * 1e-9;
      EXPECT_LT(seconds, OverVerbs() ? kBoundSecondsOverVerbs : kBoundSeconds) << what;
      worst = std::max(worst, seconds);
    }
  }
  std::cout << "told at the latest after " << worst * 1e3 << " ms\n";
  RecordProperty("worst_milliseconds", std::to_string(worst * 1e3));
}

std::string NameOf(const ::testing::TestParamInfo<DeathTest::ParamType>& info) {
  return std::string(std::get<0>(info.param)) + (std::get<1>(info.param) ? "_fault" : "");
}

INSTANTIATE_TEST_SUITE_P(Work, DeathTest,
                         ::testing::Combine(::testing::Values("put", "get", "post_put", "spans",
                                                              "atomic", "async", "notify", "signal",
                                                              "barrier", "allocate", "create",
                                                              "create_counter", "join", "leave"),
                                            ::testing::Bool()),
                         NameOf);

}  // namespace
}  // namespace weft::testing
