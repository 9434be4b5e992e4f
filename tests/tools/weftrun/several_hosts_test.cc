// A job on several hosts, all of which are this machine: the agent runs its command
// here. What goes over a network besides, network_hosts_test.cc shows.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/tools/weftrun/weftrun_process.h"

namespace weft {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// The command takes the agent's place, or has the agent, a shell, above it.
constexpr char kAgent[] = "sh -c 'exec sh -c \"$1\"'";
constexpr char kAgentAbove[] = "sh -c 'sh -c \"$1\"; exit $?'";

std::vector<std::string> OnHosts(const std::string& hosts, std::vector<std::string> arguments,
                                 const char* agent = kAgent) {
  std::vector<std::string> all = {"--agent", agent, "--host", hosts};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

// Two ranks on each of two hosts, that do `steps`.
WeftrunResult RunSteps(const std::vector<std::string>& steps, const char* hosts = "a:2,b:2") {
  std::vector<std::string> arguments = {TestRankPath()};
  arguments.insert(arguments.end(), steps.begin(), steps.end());
  return RunWeftrun(OnHosts(hosts, arguments));
}

std::vector<std::string> SortedLines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(SeveralHostsTest, RanksKnowWhereTheyAre) {
  const WeftrunResult result =
      RunWeftrun(OnHosts("a:2,localhost,b:2", {"-x", "FOO=b'ar baz", "sh", "-c",
                                               "echo $WEFT_RANK/$WEFT_SIZE $WEFT_NODE $FOO $PWD"}));
  EXPECT_EQ(result.code(), 0) << result.err;
  char here[4096];
  const std::string rest = std::string(" b'ar baz ") + getcwd(here, sizeof(here));
  EXPECT_THAT(SortedLines(result.out),
              testing::ElementsAre("0/5 0" + rest, "1/5 0" + rest, "2/5 1" + rest, "3/5 2" + rest,
                                   "4/5 2" + rest));
  EXPECT_EQ(result.err, "");
}

TEST(SeveralHostsTest, OneOtherHost) {
  const WeftrunResult result =
      RunSteps({"join", "share=4096", "fence", "print-nodes", "leave"}, "a:2");
  EXPECT_EQ(result.code(), 0) << result.err << result.out;
  EXPECT_EQ(result.out, "nodes 0 0\nnodes 0 0\n");
}

TEST(SeveralHostsTest, TheBootstrapSpansThem) {
  for (const char* hosts : {"a:2,b:2", "localhost:2,b:2", "a:2,localhost:2"}) {
    const WeftrunResult result =
        RunSteps({"join", "0:put=k0", "3:put=k3", "fence", "get=k0", "get=k3", "share=65536",
                  "fence", "print-nodes", "fence", "1:leave", "1:exit=0", "await-left=1", "leave"},
                 hosts);
    EXPECT_EQ(result.code(), 0) << hosts << result.err << result.out;
    EXPECT_EQ(result.out, "nodes 0 0 1 1\nnodes 0 0 1 1\nnodes 0 0 1 1\nnodes 0 0 1 1\n") << hosts;
  }
}

TEST(SeveralHostsTest, RanksCanBeDealtOutInTurn) {
  std::vector<std::string> arguments = {"--map-by", "node", TestRankPath()};
  for (const char* step : {"join", "share=65536", "print-nodes", "fence", "leave"}) {
    arguments.push_back(step);
  }
  const WeftrunResult result = RunWeftrun(OnHosts("a:2,localhost:2", arguments));
  EXPECT_EQ(result.code(), 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("nodes 0 1 0 1\n"));
}

TEST(SeveralHostsTest, MembersOnAllHostsSeeADeath) {
  const WeftrunResult result =
      RunSteps({"join", "share=65536", "fence", "2:kill=9", "await-dead=1", "fence"});
  EXPECT_EQ(result.code(), 137);
  size_t seen = 0;
  for (const std::string& line : SortedLines(result.out)) {
    seen += line == "dead: 2 wait status 9 limit 0";
  }
  EXPECT_EQ(seen, 3u) << result.out;
  EXPECT_THAT(result.out, HasSubstr("the bootstrap fence: rank 2 was killed by signal 9"));
  EXPECT_THAT(result.err,
              ContainsRegex("^weftrun: rank 2 on b \\(pid [0-9]+\\) was killed by signal "
                            "9 \\(Killed\\); the job was ended\n$"));
}

TEST(SeveralHostsTest, ShapesThatDifferAreAnErrorForAll) {
  const WeftrunResult result = RunSteps({"join", "3:share=8192", "share=4096"});
  EXPECT_EQ(result.code(), 1);
  size_t seen = 0;
  for (const std::string& line : SortedLines(result.out)) {
    seen += line.find("rank 3 asked for a slab of 8192 bytes") != std::string::npos;
  }
  EXPECT_EQ(seen, 4u) << result.out;
}

TEST(SeveralHostsTest, ADryRunNamesTheHosts) {
  const WeftrunResult result =
      RunWeftrun({"--host", "a,localhost", "--map-by", "node", "-n", "3", "--dry-run", "./p"});
  EXPECT_EQ(result.code(), 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("rank 0 on a: cpus of that host, stdin inherited, in /"));
  EXPECT_THAT(result.out, HasSubstr("rank 1 on localhost: cpus "));
  EXPECT_THAT(result.out, HasSubstr("rank 2 on a: cpus of that host, stdin empty"));
}

TEST(SeveralHostsTest, StatusesAndLastLines) {
  WeftrunResult result =
      RunWeftrun(OnHosts("a:2,b:2", {"sh", "-c", "test $WEFT_RANK = 3 && exit 7; exec sleep 100"}));
  EXPECT_EQ(result.code(), 7);
  EXPECT_THAT(result.err, ContainsRegex("^weftrun: rank 3 on b .* exited with status 7"));
  EXPECT_LT(result.seconds, 20);

  result = RunSteps({"join", "fence", "1:abort=42,no input", "1:hang", "fence"});
  EXPECT_EQ(result.code(), 42);
  EXPECT_THAT(result.err, ContainsRegex("rank 1 on a .* aborted the job with status 42: no input"));

  result = RunWeftrun(OnHosts(
      "a,b", {"--timeout", "1", "sh", "-c", "test $WEFT_RANK = 0 && exit 0; exec sleep 100"}));
  EXPECT_EQ(result.code(), 124);
  EXPECT_THAT(result.err, HasSubstr("within 1 s (--timeout): rank 1 on b still ran"));

  result = RunWeftrun(OnHosts("a,b", {"/no/such/program"}));
  EXPECT_EQ(result.code(), 127);
  EXPECT_THAT(result.err, ContainsRegex("on [ab]: cannot run /no/such/program: No such file"));
}

TEST(SeveralHostsTest, WhatKeepsAHostFromStartingIsSaid) {
  WeftrunResult result = RunWeftrun({"--agent", "/no/agent -x", "--host", "a,b", "true"});
  EXPECT_EQ(result.code(), 125);
  EXPECT_THAT(result.err,
              ContainsRegex("the agent that runs weftrun on [ab] is not there: /no/agent "
                            "-x; .*--agent"));

  result = RunWeftrun(OnHosts("a,b", {"--remote-weftrun", "/no/weftrun", "true"}));
  EXPECT_EQ(result.code(), 125);
  EXPECT_THAT(result.err, ContainsRegex("weftrun cannot be run on [ab].*--remote-weftrun"));

  result = RunWeftrun({"--agent", "sh -c 'exit 255'", "--host", "a,b", "true"});
  EXPECT_EQ(result.code(), 125);
  EXPECT_THAT(result.err,
              ContainsRegex("could not be started on [ab]: the agent exited with status "
                            "255; see whether this works: sh -c 'exit 255' [ab] true"));

  result = RunWeftrun(
      {"--agent", "sh -c 'echo Welcome to $0; exec sleep 100'", "--host", "a,b", "true"});
  EXPECT_EQ(result.code(), 125);
  EXPECT_THAT(result.err, ContainsRegex("[ab] sent \"Welcome to [ab]\\\\n\", which is no message"));
}

TEST(SeveralHostsTest, OutputComesWholeAndWaits) {
  const WeftrunResult result = RunWeftrun(
      OnHosts("a:2,b", {"--tag-output", "sh", "-c", "seq 100000; echo $WEFT_RANK says >&2"}));
  EXPECT_EQ(result.code(), 0) << result.err;
  const auto lines = SortedLines(result.out);
  EXPECT_EQ(lines.size(), 300000u);
  EXPECT_EQ(std::adjacent_find(lines.begin(), lines.end()), lines.end());
  EXPECT_EQ(lines.front(), "[0] 1");
  EXPECT_THAT(SortedLines(result.err),
              testing::ElementsAre("[0] 0 says", "[1] 1 says", "[2] 2 says"));
}

TEST(SeveralHostsTest, WhoStopsReadingEndsIt) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]);
  WeftrunProcess process({.arguments = OnHosts("a,b", {"yes"}), .stdout_fd = ends[1]});
  close(ends[1]);
  char some[100];
  ASSERT_GT(read(reader.get(), some, sizeof(some)), 0);
  reader.reset();
  EXPECT_EQ(process.Wait().code(), 141);
  EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(2))));
}

TEST(SeveralHostsTest, RankZeroReadsStandardInput) {
  const UniqueFd input(memfd_create("input", MFD_CLOEXEC));
  std::string text;
  for (int i = 0; i < 50000; ++i) text += std::to_string(i) + "\n";
  ASSERT_EQ(write(input.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  for (const char* hosts : {"a,b", "localhost,b", "a,localhost"}) {
    lseek(input.get(), 0, SEEK_SET);
    WeftrunProcess process({.arguments = OnHosts(hosts, {"cat"}), .stdin_fd = input.get()});
    const WeftrunResult result = process.Wait();
    EXPECT_EQ(result.code(), 0) << hosts << result.err;
    EXPECT_EQ(result.out, text) << hosts;
  }
  // A pipe that never ends, of which it takes little.
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  ASSERT_EQ(write(write_end.get(), "one\ntwo\n", 8), 8);
  WeftrunProcess process(
      {.arguments = OnHosts("a,b", {"sh", "-c", "test $WEFT_RANK = 1 || head -n 1"}),
       .stdin_fd = read_end.get()});
  const WeftrunResult result = process.Wait();
  EXPECT_EQ(result.code(), 0) << result.err;
  EXPECT_EQ(result.out, "one\n");
}

TEST(SeveralHostsTest, SignalsReachAllHosts) {
  for (const int signal : {SIGINT, SIGTERM}) {
    WeftrunProcess process({.arguments = OnHosts("a,b", {TestRankPath(), "print=up", "hang"})});
    ASSERT_TRUE(process.AwaitUp(2)) << process.err();
    process.Signal(signal);
    const WeftrunResult result = process.Wait();
    EXPECT_EQ(result.code(), 128 + signal) << result.err;
    EXPECT_LT(result.seconds, 30);
    EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(2)))) << process.Describe();
  }
}

TEST(SeveralHostsTest, ASignalDoesNotWaitForAHostThatDoesNotStart) {
  WeftrunProcess process({.arguments = {"--agent", "sh -c 'exec sleep 100'", "--host",
                                        "localhost,b", TestRankPath(), "print=up", "hang"}});
  ASSERT_TRUE(process.AwaitUp(1)) << process.err();
  process.Signal(SIGINT);
  const WeftrunResult result = process.Wait();
  EXPECT_EQ(result.code(), 130) << result.err;
  EXPECT_LT(result.seconds, 20);
  EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(2)))) << process.Describe();
}

// Whoever of them dies, nothing is left on any host.
enum class Victim { kLauncher, kAgent, kKeeper, kGuardThere, kGuardHere, kRank };

class SeveralHostsCleanupTest : public testing::TestWithParam<Victim> {
 protected:
  void SetUp() override { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  void TearDown() override {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
};

TEST_P(SeveralHostsCleanupTest, NothingIsLeftAfterTwoSeconds) {
  const Victim victim = GetParam();
  for (int round = 0; round < 3; ++round) {
    WeftrunProcess process({.arguments = OnHosts("localhost:2,b:2",
                                                 {TestRankPath(), "ignore=15", "grandchild", "join",
                                                  "share=65536", "fence", "print=up", "hang"},
                                                 kAgentAbove)});
    ASSERT_TRUE(process.AwaitUp(4)) << process.err();
    pid_t doomed = 0;
    switch (victim) {
      case Victim::kLauncher:
        doomed = process.pid();
        break;
      case Victim::kAgent:
        doomed = process.Named("sh").front();
        break;
      case Victim::kKeeper:
        doomed = process.Named("weftrun-keeper").front();
        break;
      case Victim::kGuardHere:
      case Victim::kGuardThere: {
        doomed = process.Guard();
        if (victim == Victim::kGuardHere) break;
        const pid_t here = doomed;
        for (const pid_t guard : process.Named("weftrun-guard")) {
          if (guard != here) doomed = guard;
        }
        break;
      }
      case Victim::kRank:
        doomed = process.Ranks().front();
    }
    ASSERT_GT(doomed, 0);
    kill(doomed, SIGKILL);
    // After a rank's death the others have a second and a half to end, as ever.
    const absl::Duration bound = victim == Victim::kRank ? absl::Seconds(4) : absl::Seconds(3.5);
    EXPECT_TRUE(process.Gone(Deadline::After(bound))) << process.Describe();
    const WeftrunResult result = process.Wait();
    if (victim == Victim::kLauncher) continue;
    EXPECT_EQ(result.code(), victim == Victim::kRank ? 137 : 125) << result.err;
    EXPECT_THAT(result.err, HasSubstr("the job was ended\n"));
  }
}

std::string VictimName(const testing::TestParamInfo<Victim>& victim) {
  constexpr const char* kNames[] = {"Launcher",   "Agent",     "Keeper",
                                    "GuardThere", "GuardHere", "Rank"};
  return kNames[static_cast<int>(victim.param)];
}

INSTANTIATE_TEST_SUITE_P(Killed, SeveralHostsCleanupTest,
                         testing::Values(Victim::kLauncher, Victim::kAgent, Victim::kKeeper,
                                         Victim::kGuardThere, Victim::kGuardHere, Victim::kRank),
                         VictimName);

}  // namespace
}  // namespace weft
