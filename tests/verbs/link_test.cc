// What becomes of a job over RDMA when the link between its ranks, or a device, fails under
// its traffic. Runs in a guest of tools/rdma-vm alone, whose links it breaks and mends again:
// rank 0 is on rxe0 over rn0, rank 1 on rxe1 over rn1, on the two ends of one cable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/tools/weftrun/weftrun_process.h"
#include "tests/world/rank_report.h"

namespace weft::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

void Shell(const std::string& command) { EXPECT_EQ(std::system(command.c_str()), 0) << command; }

class LinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char host[64] = {};
    gethostname(host, sizeof(host) - 1);
    if (std::string(host) != "rdma-vm") GTEST_SKIP() << "only in a guest: it breaks links";
    Shell("modprobe sch_netem");  // Takes seconds, the first time.
  }

  // Two ranks whose traffic goes on for so many seconds if nothing stops it; returns once it
  // flows in both directions.
  void Start(int seconds) {
    process_.emplace(WeftrunProcess::Setup{
        .arguments = {"--timeout", "100", "-n", "2", Runfile("tests/verbs/over_verbs"),
                      Runfile("tests/verbs/link_program"), std::to_string(seconds)}});
    const Deadline patience = Deadline::After(absl::Seconds(60));
    for (int rank : {0, 1}) {
      while (ReportsOf(ParseReports(process_->out()), std::to_string(rank)).empty()) {
        ASSERT_FALSE(patience.Expired()) << process_->out() << process_->err();
        usleep(10'000);
      }
    }
    failed_ = MonotonicNanos();
  }
  // What each rank told of its end, and of the operation after that.
  void End() {
    result_ = process_->Wait(Deadline::After(absl::Seconds(110)));
    EXPECT_EQ(result_.code(), 0) << result_.out << result_.err;
    for (int rank : {0, 1}) {
      const std::vector<Report> told = ReportsOf(ParseReports(result_.out), std::to_string(rank));
      ASSERT_GE(told.size(), 2u) << result_.out << result_.err;
      ended_[rank] = told[1].what;
      std::cout << "rank " << rank << " " << static_cast<double>(told[1].when - failed_) * 1e-9
                << " s: " << ended_[rank] << "\n";
      if (told.size() < 3) continue;
      next_[rank] = told[2].what;
      // No time-out again.
      const double pause = static_cast<double>(told[2].when - told[1].when) * 1e-9;
      std::cout << "  and " << pause << " s later: " << next_[rank] << "\n";
      EXPECT_LT(pause, 5) << next_[rank];
    }
  }
  void ExpectGoesOn() {
    End();
    for (const std::string& ended : ended_) EXPECT_THAT(ended, StartsWith("ended: OK"));
  }
  // But for no time-outs without end.
  void ExpectGoesOnOrIsLost() {
    End();
    for (const std::string& ended : ended_) {
      EXPECT_TRUE(absl::StartsWith(ended, "ended: OK") || absl::StrContains(ended, "UNAVAILABLE: "))
          << ended;
    }
  }
  // Each names the other, for good. That it is no deadline that ends it, of 30 s, is the bound
  // here; the time that it took is told.
  void ExpectBothLost() {
    End();
    for (int rank : {0, 1}) {
      for (const std::string& what : {ended_[rank], next_[rank]}) {
        EXPECT_THAT(what, HasSubstr("UNAVAILABLE: "));
        EXPECT_THAT(what, HasSubstr("rank " + std::to_string(1 - rank)));
      }
    }
  }

  std::optional<WeftrunProcess> process_;
  WeftrunResult result_;
  int64_t failed_ = 0;
  std::string ended_[2], next_[2];
};

TEST_F(LinkTest, ACutOfASecondIsSurvived) {
  // Waits for its commands: to start it takes a second while the ranks are busy.
  FILE* const tc = popen("nice -n -20 tc -batch -", "w");
  ASSERT_NE(tc, nullptr);
  Start(4);
  const auto command = [&](const char* text) {
    fputs(text, tc);
    fflush(tc);
  };
  command("qdisc add dev rn0 root netem loss 100%\n");
  sleep(1);
  command("qdisc del dev rn0 root\n");
  EXPECT_EQ(pclose(tc), 0);
  ExpectGoesOn();
  // It was cut: a round of either rank waited for the end of that.
  for (const std::string& ended : ended_) {
    EXPECT_THAT(ended, MatchesRegex(".* the longest took ([6-9][0-9][0-9]|[1-9][0-9]{3}) ms"));
  }
}

TEST_F(LinkTest, ACutForGoodNamesTheOther) {
  Start(60);
  Shell("tc qdisc add dev rn0 root netem loss 100%");
  ExpectBothLost();
  Shell("tc qdisc del dev rn0 root");
}

// As a switch does that is set up for less.
TEST_F(LinkTest, APathThatDropsFullPacketsIsNamed) {
  for (const char* interface : {"rn0", "rn1"}) {
    Shell(std::string("tc qdisc add dev ") + interface + " clsact");
    Shell(std::string("tc filter add dev ") + interface +
          " ingress matchall action police rate 100gbit burst 100m mtu 2000 conform-exceed drop");
  }
  Start(60);
  ExpectBothLost();
  for (const std::string& ended : ended_) EXPECT_THAT(ended, HasSubstr("which carry 4096 bytes"));
  for (const char* interface : {"rn0", "rn1"}) {
    Shell(std::string("tc qdisc del dev ") + interface + " clsact");
  }
}

TEST_F(LinkTest, AnInterfaceThatIsDownForASecondNeverHangs) {
  Start(4);
  Shell("ip link set rn0 down");
  sleep(1);
  Shell("ip link set rn0 up");
  Shell("ip route add 10.77.0.2 dev rn0 src 10.77.0.1 table 100");
  ExpectGoesOnOrIsLost();
}

// Linux keeps a device of which a process has something open until that has gone.
TEST_F(LinkTest, ADeviceThatIsDeletedServesItsJobToTheEnd) {
  Start(4);
  Shell("timeout 60 rdma link delete rxe0 &");
  ExpectGoesOn();
  Shell(
      "while rdma link | grep -q rxe0; do sleep 0.1; done; until rdma link add rxe0 type rxe "
      "netdev rn0; do sleep 0.1; done");
}

}  // namespace
}  // namespace weft::testing
