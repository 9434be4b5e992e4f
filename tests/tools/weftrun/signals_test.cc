// What weftrun does with its user's signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "tests/tools/weftrun/weftrun_process.h"

namespace weft {
namespace {

using ::testing::StartsWith;

// Waits until both ranks of a job have printed "ready".
void AwaitReady(const WeftrunProcess& process) {
  const Deadline deadline = Deadline::After(absl::Seconds(60));
  while (process.out() != "ready\nready\n" && !deadline.Expired()) std::this_thread::yield();
  ASSERT_EQ(process.out(), "ready\nready\n");
}

std::vector<std::string> Job(const std::vector<std::string>& steps) {
  std::vector<std::string> arguments = {"-n", "2", TestRankPath()};
  arguments.insert(arguments.end(), steps.begin(), steps.end());
  return arguments;
}

TEST(SignalsTest, EachIsPassedOnAndGivesTheStatus) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    WeftrunProcess process({.arguments = Job({"print=ready", "hang"})});
    AwaitReady(process);
    process.Signal(signal);
    const WeftrunResult result = process.Wait();
    EXPECT_EQ(result.code(), 128 + signal);
    EXPECT_THAT(result.err, StartsWith("weftrun: the job was ended by signal " +
                                       std::to_string(signal) + " ("));
    EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(2))));
  }
}

TEST(SignalsTest, RanksMayEndWell) {
  WeftrunProcess process({.arguments = Job({"exit-on=15", "print=ready", "hang"})});
  AwaitReady(process);
  process.Signal(SIGTERM);
  const WeftrunResult result = process.Wait();
  EXPECT_EQ(result.code(), 0);
  EXPECT_EQ(result.err, "");
}

TEST(SignalsTest, WhoIgnoresItIsKilledAfterFiveSeconds) {
  WeftrunProcess process({.arguments = Job({"ignore=2", "grandchild", "print=ready", "hang"})});
  AwaitReady(process);
  const int64_t sent = MonotonicNanos();
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait().code(), 130);
  EXPECT_GE(MonotonicNanos() - sent, 5'000'000'000);
  EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(2))));
}

TEST(SignalsTest, ASecondOneKillsAtOnce) {
  WeftrunProcess process({.arguments = Job({"ignore=2", "grandchild", "print=ready", "hang"})});
  AwaitReady(process);
  const int64_t sent = MonotonicNanos();
  // As often as it takes, since those that come together are one.
  bool ended = false;
  while (!ended && MonotonicNanos() - sent < 4'000'000'000) {
    process.Signal(SIGINT);
    ended = process.Wait(Deadline::After(absl::Milliseconds(100))).ended;
  }
  EXPECT_TRUE(ended);
  EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(2))));
}

TEST(SignalsTest, AThirdOneDoesNotWaitForTheGuard) {
  WeftrunProcess process({.arguments = Job({"ignore=2", "grandchild", "print=ready", "hang"})});
  AwaitReady(process);
  const pid_t guard = process.Guard();
  ASSERT_GT(guard, 0);
  kill(guard, SIGSTOP);
  const Deadline deadline = Deadline::After(absl::Seconds(60));
  bool ended = false;
  while (!ended && !deadline.Expired()) {
    process.Signal(SIGINT);
    ended = process.Wait(Deadline::After(absl::Milliseconds(50))).ended;
  }
  EXPECT_TRUE(ended);
  EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(2))));
}

TEST(SignalsTest, UserSignalsArePassedOnAndEndNothing) {
  WeftrunProcess process(
      {.arguments = {"-n", "2", "sh", "-c",
                     "trap 'echo got; exit 0' USR1; echo ready; while :; do sleep 0.01; done"}});
  AwaitReady(process);
  process.Signal(SIGUSR1);
  const WeftrunResult result = process.Wait();
  EXPECT_EQ(result.code(), 0);
  EXPECT_EQ(result.out, "ready\nready\ngot\ngot\n");
}

TEST(SignalsTest, OneThatTheCallerIgnoresStaysIgnored) {
  // As nohup has it: the outer shell ignores HUP, and so does what it starts.
  WeftrunProcess process(
      {.arguments = {"-n", "1", "sh", "-c", "trap '' HUP; exec \"$@\"", "sh", WeftrunPath(), "-n",
                     "2", TestRankPath(), "print=ready", "hang"}});
  AwaitReady(process);
  // The inner weftrun is the one that is not `process` and no guard.
  pid_t inner = 0;
  for (const pid_t candidate : process.Processes()) {
    if (WeftrunProcess::IsWeftrun(candidate) && candidate != process.pid()) inner = candidate;
  }
  ASSERT_GT(inner, 0);
  kill(inner, SIGHUP);
  EXPECT_FALSE(process.Wait(Deadline::After(absl::Milliseconds(300))).ended);
  kill(inner, SIGTERM);
  EXPECT_EQ(process.Wait().code(), 143);
}

}  // namespace
}  // namespace weft
