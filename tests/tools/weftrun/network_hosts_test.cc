// A job on several hosts with a network between them that can be cut.
#include "tests/tools/weftrun/network_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <memory>

#include "tests/tools/weftrun/weftrun_process.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class NetworkHostsTest : public testing::Test {
 protected:
  // For all cases: a process enters its namespaces once.
  static void SetUpTestSuite() { hosts = std::make_unique<NetworkHosts>(2).release(); }
  static void TearDownTestSuite() {
    delete hosts;
    hosts = nullptr;
  }
  void SetUp() override {
    if (!hosts->why_not().empty()) GTEST_SKIP() << hosts->why_not();
  }

  static std::vector<std::string> OnHosts(const std::string& names,
                                          const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"--agent", hosts->agent(), "--host", names};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }
  static NetworkHosts* hosts;
};

NetworkHosts* NetworkHostsTest::hosts = nullptr;

TEST_F(NetworkHostsTest, RanksRunOnTheHostsThatAreNamed) {
  const WeftrunResult result =
      RunWeftrun(OnHosts("host1,localhost,host2",
                         {"--interface", "fabric", "sh", "-c",
                          "test $WEFT_RANK = 1 || echo $WEFT_RANK $(hostname) $WEFT_INTERFACE"}));
  EXPECT_EQ(result.code(), 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("0 host1 fabric\n"));
  EXPECT_THAT(result.out, HasSubstr("2 host2 fabric\n"));
}

TEST_F(NetworkHostsTest, TheBootstrapSpansThem) {
  const WeftrunResult result =
      RunWeftrun(OnHosts("host1:2,host2:2", {TestRankPath(), "join", "0:put=k", "fence", "get=k",
                                             "share=65536", "fence", "print-nodes", "leave"}));
  EXPECT_EQ(result.code(), 0) << result.err << result.out;
  EXPECT_THAT(result.out, HasSubstr("nodes 0 0 1 1\n"));
}

TEST_F(NetworkHostsTest, AHostWhoseLinkIsCutIsLost) {
  for (const char* names : {"localhost:2,host2:2", "host1:2,host2:2"}) {
    // Who is left says when it knows.
    WeftrunProcess process({.arguments = OnHosts(names, {TestRankPath(), "ignore=15", "grandchild",
                                                         "join", "share=65536", "fence", "print=up",
                                                         "0:await-dead=2", "hang"})});
    ASSERT_TRUE(process.AwaitUp(4)) << process.err();
    const int64_t cut = MonotonicNanos();
    hosts->SetLink(2, false);
    const WeftrunResult result = process.Wait();
    const double seconds = static_cast<double>(MonotonicNanos() - cut) * 1e-9;
    EXPECT_EQ(result.code(), 125);
    EXPECT_THAT(result.err, HasSubstr("host host2 is lost, and ranks 2, 3 with it: nothing has "
                                      "been heard from it for 3 s; the job was ended\n"));
    EXPECT_GT(seconds, 2);
    // 3 s, and what ranks that ignore SIGTERM take.
    EXPECT_LT(seconds, 8);
    EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(2)))) << process.Describe();
    hosts->SetLink(2, true);
  }
}

TEST_F(NetworkHostsTest, WhoIsCutOffIsDeadBeforeItIsSaidToBe) {
  WeftrunProcess process(
      {.arguments =
           OnHosts("localhost,host2", {TestRankPath(), "join", "share=65536", "fence", "print=up",
                                       "0:await-dead=1", "0:print=known", "hang"})});
  ASSERT_TRUE(process.AwaitUp(2)) << process.err();
  ASSERT_EQ(process.Ranks().size(), 2u);
  hosts->SetLink(2, false);
  EXPECT_TRUE(process.AwaitOutput(
      [](const std::string& out) { return out.find("known") != std::string::npos; }));
  EXPECT_LE(process.Ranks().size(), 1u) << process.Describe();
  EXPECT_EQ(process.Wait().code(), 125);
  EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(2)))) << process.Describe();
  hosts->SetLink(2, true);
}

TEST_F(NetworkHostsTest, ALauncherOrAgentThatIsKilledLeavesNothingOnTheHosts) {
  for (const bool launcher : {true, false}) {
    WeftrunProcess process(
        {.arguments = OnHosts("host1:2,host2:2", {TestRankPath(), "ignore=15", "grandchild", "join",
                                                  "share=65536", "fence", "print=up", "hang"})});
    ASSERT_TRUE(process.AwaitUp(4)) << process.err();
    const auto agents = process.Named("test_agent");
    ASSERT_EQ(agents.size(), 2u);
    kill(launcher ? process.pid() : agents[0], SIGKILL);
    EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(launcher ? 2 : 4))))
        << process.Describe();
  }
}

TEST_F(NetworkHostsTest, AHostThatDoesNotAnswerIsNamed) {
  const WeftrunResult result = RunWeftrun(OnHosts("host1,host9", {"true"}));
  EXPECT_EQ(result.code(), 125);
  EXPECT_THAT(result.err, HasSubstr("weftrun could not be started on host9: the agent exited with "
                                    "status 255; see whether this works: "));
}

}  // namespace
}  // namespace weft
