// Nothing of a job outlives it: launcher, guard or both are killed at seeded
// moments (WEFT_SEEDS=N for more), while ranks ignore SIGTERM, are stopped, and
// have grandchildren in sessions of their own.
#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <set>

#include "tests/tools/weftrun/weftrun_process.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

int Seeds() {
  const char* seeds = getenv("WEFT_SEEDS");
  return seeds == nullptr ? 20 : atoi(seeds);
}

// Names in a folder that are Weft's.
std::set<std::string> WeftEntries(const char* folder) {
  std::set<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder), closedir);
  while (const dirent* entry = entries == nullptr ? nullptr : readdir(entries.get())) {
    if (std::string(entry->d_name).find("weft") != std::string::npos) names.insert(entry->d_name);
  }
  return names;
}

void Pause(int64_t microseconds) {
  const timespec wait = {.tv_sec = microseconds / 1'000'000,
                         .tv_nsec = microseconds % 1'000'000 * 1000};
  nanosleep(&wait, nullptr);
}

// Whether so many processes are there in time, and stay: the ones that come and
// go while grandchildren are made do not count.
bool AwaitCount(const WeftrunProcess& process, size_t count) {
  const Deadline deadline = Deadline::After(absl::Seconds(60));
  int in_a_row = 0;
  while (in_a_row < 3 && !deadline.Expired()) {
    in_a_row = process.Processes().size() == count ? in_a_row + 1 : 0;
    Pause(2000);
  }
  return in_a_row == 3;
}

// Four ranks that do everything to stay.
std::vector<std::string> Stubborn(bool grandchildren) {
  std::vector<std::string> arguments = {"-n", "4", TestRankPath(), "ignore=15", "ignore=1"};
  if (grandchildren) arguments.push_back("grandchild");
  for (const char* step : {"join", "share=1048576", "skew=5", "1:kill=19", "fence", "hang"}) {
    arguments.push_back(step);
  }
  return arguments;
}

enum class Victim { kLauncher, kGuard, kLauncherThenGuard, kGuardThenLauncher, kGroup };

class CleanupTest : public testing::TestWithParam<Victim> {
 protected:
  // The launcher's orphans come to us, so that their zombies are reaped here too.
  void SetUp() override { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  void TearDown() override {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
};

TEST_P(CleanupTest, NothingIsLeftAfterTwoSeconds) {
  const Victim victim = GetParam();
  // When both die, only the ranks themselves are sure to go with them.
  const bool both = victim == Victim::kLauncherThenGuard || victim == Victim::kGuardThenLauncher;
  const auto shm = WeftEntries("/dev/shm");
  const auto tmp = WeftEntries("/tmp");
  double worst = 0;
  int late = 0;
  for (int seed = 0; seed < Seeds(); ++seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    WeftrunProcess process({.arguments = Stubborn(!both), .own_group = true});
    pid_t guard = 0;
    if (victim != Victim::kLauncher && victim != Victim::kGroup) {
      const Deadline deadline = Deadline::After(absl::Seconds(60));
      while (guard == 0 && !deadline.Expired()) guard = process.Guard();
      ASSERT_GT(guard, 0);
    }
    // Every other time all is there: the ranks, and a grandchild of each.
    if (seed % 2 == 1) {
      ASSERT_TRUE(AwaitCount(process, both ? 6 : 10));
    }
    Pause(std::uniform_int_distribution<int64_t>(0, 30'000)(random));
    const int64_t between = std::uniform_int_distribution<int64_t>(0, 3'000)(random);
    const int64_t killed = MonotonicNanos();
    switch (victim) {
      case Victim::kLauncher:
        process.Signal(SIGKILL);
        break;
      case Victim::kGuard:
        kill(guard, SIGKILL);
        break;
      case Victim::kLauncherThenGuard:
        process.Signal(SIGKILL);
        Pause(between);
        kill(guard, SIGKILL);
        break;
      case Victim::kGuardThenLauncher:
        kill(guard, SIGKILL);
        Pause(between);
        process.Signal(SIGKILL);
        break;
      case Victim::kGroup:
        process.SignalGroup(SIGKILL);
        break;
    }
    EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(30))))
        << "seed " << seed << ": these are left:\n"
        << process.Describe();
    const double seconds = static_cast<double>(MonotonicNanos() - killed) * 1e-9;
    worst = std::max(worst, seconds);
    if (seconds > 2) ++late;
    const WeftrunResult result = process.Wait();
    if (victim == Victim::kGuard) {
      EXPECT_EQ(result.code(), 125) << "seed " << seed;
      EXPECT_THAT(result.err, HasSubstr("guard was killed by signal 9 (Killed)"));
    }
  }
  // A machine that is busy with something else may be late once.
  EXPECT_LE(late, Seeds() / 20) << "the worst took " << worst << " s";
  EXPECT_EQ(WeftEntries("/dev/shm"), shm);
  EXPECT_EQ(WeftEntries("/tmp"), tmp);
  RecordProperty("worst_seconds", std::to_string(worst));
}

std::string NameOf(const testing::TestParamInfo<Victim>& info) {
  switch (info.param) {
    case Victim::kLauncher:
      return "Launcher";
    case Victim::kGuard:
      return "Guard";
    case Victim::kLauncherThenGuard:
      return "LauncherThenGuard";
    case Victim::kGuardThenLauncher:
      return "GuardThenLauncher";
    case Victim::kGroup:
      return "Group";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Victims, CleanupTest,
                         testing::Values(Victim::kLauncher, Victim::kGuard,
                                         Victim::kLauncherThenGuard, Victim::kGuardThenLauncher,
                                         Victim::kGroup),
                         NameOf);

TEST(LeftoversTest, WhatRanksLeaveBehindIsEndedWithTheJob) {
  for (const char* end : {"exit=0", "exit=3"}) {
    WeftrunProcess process(
        {.arguments = {"-n", "3", TestRankPath(), "ignore=15", "grandchild", end}});
    const WeftrunResult result = process.Wait();
    EXPECT_EQ(result.code(), end[5] - '0');
    // weftrun itself has seen to it.
    EXPECT_TRUE(process.Processes().empty());
  }
}

TEST(LeftoversTest, AChildThatHoldsTheOutputDoesNotHoldUpTheEnd) {
  WeftrunProcess process(
      {.arguments = {"-n", "2", "sh", "-c", "setsid sh -c 'sleep 1000' & echo done"}});
  const WeftrunResult result = process.Wait();
  EXPECT_EQ(result.code(), 0);
  EXPECT_EQ(result.out, "done\ndone\n");
  EXPECT_TRUE(process.Processes().empty());
}

TEST(LeftoversTest, AProcessWhoseFirstThreadEndedIsKilledToo) {
  WeftrunProcess process({.arguments = {"-n", "2", TestRankPath(), "ignore=15", "0:end-main-thread",
                                        "1:sleep=100", "1:exit=3"}});
  const WeftrunResult result = process.Wait();
  EXPECT_EQ(result.code(), 3);
  EXPECT_TRUE(process.Processes().empty());
}

// A shell may become weftrun (exec) and bring children with it.
TEST(LeftoversTest, ChildrenThatWeftrunDidNotStartAreSpared) {
  WeftrunProcess process(
      {.program = "/bin/sh",
       .arguments = {"-c", "(sleep 0.5; echo spared) & exec \"$0\" -n 2 \"$1\" grandchild hang",
                     WeftrunPath(), TestRankPath()}});
  const Deadline deadline = Deadline::After(absl::Seconds(60));
  pid_t guard = 0;
  while ((guard = process.Guard()) == 0 && !deadline.Expired()) Pause(1000);
  ASSERT_GT(guard, 0);
  kill(guard, SIGKILL);
  const WeftrunResult result = process.Wait();
  EXPECT_EQ(result.code(), 125);
  EXPECT_THAT(result.err, HasSubstr("guard was killed by signal 9 (Killed); the job was ended"));
  while (process.out() != "spared\n" && !deadline.Expired()) Pause(1000);
  EXPECT_EQ(process.out(), "spared\n");
}

}  // namespace
}  // namespace weft
