// The barrier of a node, with a process a rank: nobody passes before all have
// arrived, whatever the delays and cpus, and each way in which it can fail.
#include "runtime/sync/node_barrier.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <random>
#include <string>
#include <tuple>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/runtime/sync/shared_node.h"
#include "tests/support/stumble.h"

namespace weft {
namespace {

constexpr uint32_t kManyCpus = 1024;  // Makes every barrier count.
const Deadline kExpired = Deadline::AtMonotonicNanos(0);

absl::Status Enter(NodeBarrier& barrier, Deadline deadline = Deadline()) {
  bool compare = false;
  return barrier.Enter(deadline, compare);
}

// Ranks that run `rounds` barriers, and check in each that all have arrived.
void CheckBarriers(Rank size, uint32_t configured_cpus, uint64_t rounds, bool migrate) {
  const SharedNode node(size);
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  const auto statuses = node.Run([&](const NodeView& view) {
    NodeBarrier barrier(view, {}, configured_cpus);
    std::minstd_rand random(view.rank + 1);
    for (uint64_t round = 1; round <= rounds; ++round) {
      if (migrate && random() % 4 == 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(random() % cpus, &set);
        sched_setaffinity(0, sizeof(set), &set);  // May be forbidden: then it stays.
      }
      Stumble(random);
      node.word(view.rank).store(round, std::memory_order_relaxed);
      ASSERT_TRUE(Enter(barrier).ok());
      for (Rank r = 0; r < size; ++r) {
        const uint64_t theirs = node.word(r).load(std::memory_order_relaxed);
        ASSERT_TRUE(theirs == round || theirs == round + 1)
            << "rank " << r << " is in round " << theirs << " of " << round;
      }
    }
  });
  EXPECT_TRUE(AllSucceeded(statuses));
  for (Rank r = 0; r < size; ++r) EXPECT_EQ(node.word(r), rounds);
}

class NodeBarrierSizes : public ::testing::TestWithParam<std::tuple<Rank, uint32_t>> {
 protected:
  Rank size() const { return std::get<0>(GetParam()); }
  uint32_t cpus() const { return std::get<1>(GetParam()); }
};

TEST_P(NodeBarrierSizes, NobodyPassesBeforeAllHaveArrived) {
  CheckBarriers(size(), cpus(), 16'000 / size(), /*migrate=*/false);
}

TEST_P(NodeBarrierSizes, RanksThatMoveBetweenCpusAreCountedRight) {
  CheckBarriers(size(), cpus(), 8'000 / size(), /*migrate=*/true);
}

INSTANTIATE_TEST_SUITE_P(ByCpuAndCounter, NodeBarrierSizes,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 7, 16, 33),
                                            ::testing::Values(8, kManyCpus)));

// Three ranks as objects of one process: an expired deadline makes a call arrive
// and return, so that every interleaving is a plain sequence of calls.
class NodeBarrierFailures : public ::testing::TestWithParam<uint32_t> {
 protected:
  SharedNode node_{3};
  NodeBarrier a_{node_.view(0), {}, GetParam()};
  NodeBarrier b_{node_.view(1), {}, GetParam()};
  NodeBarrier c_{node_.view(2), {}, GetParam()};
};

TEST_P(NodeBarrierFailures, LateNamesWhoIsMissingAndEntersTheSameOneAgain) {
  absl::Status late = Enter(b_, kExpired);
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(late.message().find("2 of 3 ranks have not arrived: 0, 2;"), std::string::npos) << late;
  late = Enter(c_, kExpired);
  EXPECT_NE(late.message().find("1 of 3 ranks have not arrived: 0;"), std::string::npos) << late;
  EXPECT_EQ(Enter(b_, kExpired).code(), absl::StatusCode::kDeadlineExceeded);

  EXPECT_TRUE(Enter(a_, kExpired).ok()) << "the last to arrive waits for nobody";
  EXPECT_TRUE(Enter(b_, kExpired).ok());
  EXPECT_TRUE(Enter(c_, kExpired).ok());
  // All are in the second one.
  EXPECT_EQ(a_.generation(), 2u);
  EXPECT_EQ(b_.generation(), 2u);
  EXPECT_FALSE(Enter(a_, kExpired).ok());
  EXPECT_FALSE(Enter(b_, kExpired).ok());
  EXPECT_TRUE(Enter(c_, kExpired).ok());
}

TEST_P(NodeBarrierFailures, DeadlineIsKeptWhileItSleeps) {
  const int64_t start = MonotonicNanos();
  EXPECT_EQ(Enter(a_, Deadline::After(absl::Milliseconds(30))).code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_GE(MonotonicNanos() - start, 30'000'000);
}

TEST_P(NodeBarrierFailures, DeadMemberIsNamedWithItsEnd) {
  node_.MarkDead(2, SIGKILL);
  const absl::Status status = Enter(a_);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("rank 2 died: killed by signal 9 (Killed)"), std::string::npos)
      << status;
}

TEST_P(NodeBarrierFailures, MemberThatLeftIsNamed) {
  node_.MarkLeft(1);
  const absl::Status status = Enter(a_);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("rank 1 has left"), std::string::npos) << status;
}

// A rank that was told, and has left since, is not the reason.
TEST_P(NodeBarrierFailures, TheFirstThatWasLostIsNamed) {
  node_.MarkDead(2, SIGKILL);
  node_.MarkLeft(0);
  absl::Status status = Enter(b_);
  EXPECT_NE(status.message().find("rank 2 died"), std::string::npos) << status;
}

TEST_P(NodeBarrierFailures, TheFirstThatWasLostIsNamedThoughItHadArrived) {
  EXPECT_FALSE(Enter(c_, kExpired).ok());
  node_.MarkDead(2, SIGKILL);
  node_.MarkLeft(0);
  absl::Status status = Enter(b_);
  EXPECT_NE(status.message().find("rank 2 died"), std::string::npos) << status;
}

TEST_P(NodeBarrierFailures, OneThatCompletedBeforeTheDeathIsOk) {
  EXPECT_FALSE(Enter(a_, kExpired).ok());
  EXPECT_FALSE(Enter(b_, kExpired).ok());
  EXPECT_TRUE(Enter(c_).ok());
  node_.MarkDead(2, SIGKILL);
  node_.MarkLeft(1);
  EXPECT_TRUE(Enter(a_).ok());
  EXPECT_EQ(Enter(a_).code(), absl::StatusCode::kUnavailable);
}

TEST_P(NodeBarrierFailures, WildWritesMayDelayItAndNoMore) {
  NodeBarrierLines& lines = node_.view(0).control(0).barrier;
  lines.arrived = ~uint64_t{0};
  lines.population = ~uint64_t{0};
  for (NodeBarrier* barrier : {&a_, &b_, &c_}) {
    const absl::Status status = Enter(*barrier, Deadline::After(absl::Milliseconds(1)));
    EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kDeadlineExceeded) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(ByCpuAndCounter, NodeBarrierFailures, ::testing::Values(8, kManyCpus));

TEST(NodeBarrier, ProgressIsMadeWhileItWaits) {
  SharedNode node(2);
  NodeBarrier other(node.view(1), {});
  int steps = 0;
  // What the other rank needs in order to arrive.
  const auto step = [&] {
    if (++steps == 20) {
      EXPECT_TRUE(Enter(other).ok());
    }
  };
  NodeBarrier barrier(node.view(0), {.step = step, .every_ns = 100'000});
  EXPECT_TRUE(Enter(barrier).ok());
  EXPECT_EQ(steps, 20);
}

// Those who wait for a late rank leave the cpu to others.
TEST(NodeBarrier, WaitersOfALateRankSleep) {
  for (Rank size : {2, 5}) {
    const SharedNode node(size);
    const auto statuses = node.Run([&](const NodeView& view) {
      NodeBarrier barrier(view, {});
      EXPECT_TRUE(Enter(barrier).ok());
      if (view.rank == 0) absl::SleepFor(absl::Milliseconds(300));
      const clock_t before = clock();  // Of this process.
      EXPECT_TRUE(Enter(barrier).ok());
      EXPECT_LT(clock() - before, CLOCKS_PER_SEC / 10);
    });
    EXPECT_TRUE(AllSucceeded(statuses));
  }
}

// Real processes: one is killed at some moment while the others go round.
TEST(NodeBarrier, EverySurvivorNamesARankThatIsKilled) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const Rank size = 2 + seed % 4;
    const Rank victim = seed % size;
    SharedNode node(size);
    const auto statuses = node.Run([&](const NodeView& view) {
      NodeBarrier barrier(view, {});
      std::minstd_rand random(seed * 100 + view.rank);
      absl::Status status;
      for (uint64_t round = 0; status.ok(); ++round) {
        Stumble(random);
        if (view.rank == victim && round == 50 + seed) kill(getpid(), SIGKILL);
        status = Enter(barrier);
      }
      const std::string named = "rank " + std::to_string(victim) + " died: killed by signal 9";
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_NE(status.message().find(named), std::string::npos) << status;
    });
    for (Rank r = 0; r < size; ++r) EXPECT_EQ(statuses[r], r == victim ? SIGKILL : 0);
  }
}

}  // namespace
}  // namespace weft
