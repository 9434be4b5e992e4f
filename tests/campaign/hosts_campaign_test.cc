// Hosts and links that fail under a job that goes on: network namespaces (WEFT_SEEDS=N for more of
// those at random).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/campaign/trial.h"
#include "tests/tools/weftrun/network_hosts.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using Drops = NetworkHosts::Drops;

class HostsCampaign : public testing::Test {
 protected:
  // For all cases: a process enters its namespaces once.
  static void SetUpTestSuite() {
    for (const char* name : {"XML_OUTPUT_FILE", "TEST_PREMATURE_EXIT_FILE"}) unsetenv(name);
    hosts = std::make_unique<NetworkHosts>(3).release();
  }
  static void TearDownTestSuite() {
    delete hosts;
    hosts = nullptr;
  }
  void SetUp() override {
    if (!hosts->why_not().empty()) GTEST_SKIP() << hosts->why_not();
  }
  void TearDown() override {
    for (int host = 1; host <= 3 && hosts->why_not().empty(); ++host) {
      hosts->SetLink(host, true);
      hosts->SetDrops(host, Drops::kNothing);
    }
  }

  // Ranks 0 and 1 on host1, 2 and 3 on host2, 4 on host3; the launcher is on none of them.
  static std::unique_ptr<Trial> Start() {
    auto trial = std::make_unique<Trial>(
        5, std::vector<std::string>{"--agent", hosts->agent(), "--host", "host1:2,host2:2,host3"});
    EXPECT_TRUE(trial->AwaitUp()) << trial->process().out() << trial->process().err();
    return trial;
  }
  // The ranks of host2 are dead, and the others go on.
  static void ExpectHost2Lost(Trial& trial) {
    for (const Rank rank : {2u, 3u}) trial.Expect(rank);
    EXPECT_TRUE(trial.AwaitSurvivors()) << trial.process().out() << trial.process().err();
    // At most one side of a partition goes on.
    for (const Rank rank : {2u, 3u}) {
      const Deadline soon = Deadline::After(absl::Seconds(4));
      while (kill(trial.ProcessOf(rank), 0) == 0 && !soon.Expired()) {
        absl::SleepFor(absl::Milliseconds(1));
      }
      EXPECT_NE(kill(trial.ProcessOf(rank), 0), 0) << "rank " << rank << " still runs";
    }
    trial.Finish();
  }

  static NetworkHosts* hosts;
};

NetworkHosts* HostsCampaign::hosts = nullptr;

TEST_F(HostsCampaign, ARankIsKilled) {
  const auto trial = Start();
  trial->Signal(2, SIGKILL);
  EXPECT_TRUE(trial->AwaitSurvivors()) << trial->process().out() << trial->process().err();
  trial->Finish();
}

TEST_F(HostsCampaign, ALinkIsCut) {
  const auto trial = Start();
  hosts->SetLink(2, false);
  ExpectHost2Lost(*trial);
  EXPECT_THAT(trial->process().err(), HasSubstr("host host2 is lost, and ranks 2, 3 with it"));
}

TEST_F(HostsCampaign, AHostIsNotHeard) {
  const auto trial = Start();
  ASSERT_TRUE(hosts->SetDrops(2, Drops::kSent)) << hosts->why_not();
  ExpectHost2Lost(*trial);
}

TEST_F(HostsCampaign, AHostDoesNotHear) {
  const auto trial = Start();
  ASSERT_TRUE(hosts->SetDrops(2, Drops::kReceived)) << hosts->why_not();
  ExpectHost2Lost(*trial);
}

TEST_F(HostsCampaign, AKeeperOrGuardIsKilled) {
  for (const char* name : {"weftrun-keeper", "weftrun-guard"}) {
    const auto trial = Start();
    // That above rank 2.
    pid_t above = 0;
    for (const pid_t process : trial->process().Named(name)) {
      if (trial->process().IsAbove(process, trial->ProcessOf(2))) above = process;
    }
    ASSERT_NE(above, 0) << trial->process().Describe();
    kill(above, SIGKILL);
    ExpectHost2Lost(*trial);
  }
}

TEST_F(HostsCampaign, SomePacketsAreLost) {
  std::mt19937_64 random(1);
  const auto trial = Start();
  ASSERT_TRUE(hosts->SetDrops(3, Drops::kSome)) << hosts->why_not();
  absl::SleepFor(absl::Seconds(5));
  ASSERT_TRUE(hosts->SetDrops(3, Drops::kNothing)) << hosts->why_not();
  // That may be taken for the loss of a host, or of a rank; whoever is alive agrees.
  trial->FinishWhateverDied();
}

}  // namespace
}  // namespace weft
