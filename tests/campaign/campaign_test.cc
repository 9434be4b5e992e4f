// Ranks that die or are stopped at random, on one host, over each transport: WEFT_SEEDS=N for a
// longer campaign. A seed fixes who fails, how and when; what the others were doing then, it
// does not.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/campaign/trial.h"

namespace weft {
namespace {

int Seeds() {
  const char* seeds = std::getenv("WEFT_SEEDS");
  return seeds == nullptr ? 2 : std::atoi(seeds);
}

struct Way {
  const char* name;
  std::vector<std::string> flags;
};

const Way kWays[] = {
    {"shm", {}},
    {"fault", {"-x", "WEFT_FAULT=5"}},
    {"tcp", {"-x", "WEFT_TRANSPORTS=tcp"}},
    {"mixed", {"--pretend-nodes", "2", "-x", "WEFT_TRANSPORTS=shm,tcp"}},
};

class Campaign : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    // Ranks that are no tests must not write to this one's report.
    for (const char* name : {"XML_OUTPUT_FILE", "TEST_PREMATURE_EXIT_FILE"}) unsetenv(name);
  }
};

TEST_P(Campaign, WhoSurvivesGoesOn) {
  for (int seed = 0; seed < Seeds(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const auto below = [&random](uint64_t bound) { return random() % bound; };
    const Rank size = static_cast<Rank>(2 + below(4));
    Trial trial(size, GetParam().flags);
    ASSERT_TRUE(trial.AwaitUp()) << trial.process().out() << trial.process().err();
    const uint64_t victims = 1 + below(size - 1);
    while (trial.dead().size() < victims) {
      const Rank victim = static_cast<Rank>(below(size));
      if (trial.dead().contains(victim)) continue;
      absl::SleepFor(absl::Milliseconds(static_cast<int64_t>(below(200))));
      // Who is stopped is found out by a death, since it does not acknowledge.
      const bool stopped = trial.dead().size() + 1 < victims && below(4) == 0;
      trial.Signal(victim, stopped ? SIGSTOP : SIGKILL);
      trial.Expect(victim);
    }
    EXPECT_TRUE(trial.AwaitSurvivors()) << trial.process().out() << trial.process().err();
    trial.Finish();
    if (HasFailure()) return;
  }
}

TEST_P(Campaign, AllMayDieButOne) {
  Trial trial(4, GetParam().flags);
  ASSERT_TRUE(trial.AwaitUp());
  for (const Rank rank : {3u, 0u, 2u}) trial.Signal(rank, SIGKILL);
  EXPECT_TRUE(trial.AwaitSurvivors()) << trial.process().out() << trial.process().err();
  trial.Finish();
}

INSTANTIATE_TEST_SUITE_P(Ways, Campaign, testing::ValuesIn(kWays),
                         [](const auto& info) { return info.param.name; });

class OnFailure : public testing::Test {};

TEST_F(OnFailure, AJobThatNobodySurvivesHasFailed) {
  Trial trial(2, {});
  ASSERT_TRUE(trial.AwaitUp());
  for (const Rank rank : {1u, 0u}) kill(trial.ProcessOf(rank), SIGKILL);
  const WeftrunResult result = trial.process().Wait();
  EXPECT_EQ(result.code(), 128 + SIGKILL) << result.err;
  EXPECT_NE(result.err.find("no rank ended well"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace weft
