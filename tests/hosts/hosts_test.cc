// Programs on Weft on several hosts that have nothing but an IP network between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/tools/weftrun/network_hosts.h"
#include "tests/tools/weftrun/weftrun_process.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

using Strings = std::vector<std::string>;

class HostsTest : public testing::Test {
 protected:
  // For all cases: a process enters its namespaces once. Each host has a bridge for containers,
  // with the same address on all: case 27.
  static void SetUpTestSuite() {
    // Ranks that are tests themselves must not write to this one's report.
    for (const char* name : {"XML_OUTPUT_FILE", "TEST_PREMATURE_EXIT_FILE"}) unsetenv(name);
    hosts = std::make_unique<NetworkHosts>(3).release();
    if (!hosts->why_not().empty()) return;
    const WeftrunResult bridged =
        Run("host1,host2,host3",
            {"sh", "-c",
             "ip link add docker0 type bridge && ip addr add 172.17.0.1/16 dev docker0 && "
             "ip link set docker0 up"});
    ASSERT_EQ(bridged.code(), 0) << bridged.err;
  }
  static void TearDownTestSuite() {
    delete hosts;
    hosts = nullptr;
  }
  void SetUp() override {
    if (!hosts->why_not().empty()) GTEST_SKIP() << hosts->why_not();
  }

  static Strings OnHosts(const std::string& names, const Strings& command) {
    Strings all = {"--agent", hosts->agent(), "--timeout", "100", "--host", names};
    all.insert(all.end(), command.begin(), command.end());
    return all;
  }
  static WeftrunResult Run(const std::string& names, const Strings& command) {
    return RunWeftrun(OnHosts(names, command));
  }
  static Strings SortedLines(const std::string& text) {
    Strings lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
    std::ranges::sort(lines);
    return lines;
  }

  static NetworkHosts* hosts;
};

NetworkHosts* HostsTest::hosts = nullptr;

TEST_F(HostsTest, HelloSaysTheSameAsOnOneHost) {
  const std::string hello = Runfile("examples/hello");
  const WeftrunResult one = RunWeftrun({"-n", "5", hello});
  const WeftrunResult three = Run("host1:2,host2:2,host3", {hello});
  EXPECT_EQ(three.code(), 0) << three.err;
  EXPECT_EQ(SortedLines(three.out), SortedLines(one.out));
}

TEST_F(HostsTest, ALoopbackNameForTheHostItselfMisleadsNobody) {
  const WeftrunResult result = Run(
      "host1,host2", {"-x", "WEFT_TRANSPORTS=tcp", "--map-by", "node", Runfile("examples/hello")});
  EXPECT_EQ(result.code(), 0) << result.err;
}

TEST_F(HostsTest, TheMemoryModelHolds) {
  const WeftrunResult result =
      Run("host1:2,host2:2", {Runfile("tests/litmus/litmus_rank_test_program")});
  EXPECT_EQ(result.code(), 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("[  PASSED  ]"));
}

TEST_F(HostsTest, TicketsAreUniqueAndDenseOverSharedMemoryAndTcp) {
  const WeftrunResult result =
      Run("host1:2,host2:2", {Runfile("tests/regression/case_16_tickets_rank_test_program")});
  EXPECT_EQ(result.code(), 0) << result.out << result.err;
}

TEST_F(HostsTest, AnInterfaceThatIsNotThereIsNamed) {
  const WeftrunResult result =
      Run("host1,host2", {"--interface", "ib0", Runfile("examples/hello")});
  EXPECT_NE(result.code(), 0);
  EXPECT_THAT(result.err, HasSubstr("WEFT_INTERFACE=ib0"));
  EXPECT_THAT(result.err, HasSubstr("10.91.0."));
}

}  // namespace
}  // namespace weft
