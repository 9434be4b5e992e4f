// Notifications and signals: every arrival is counted, each is consumed once,
// and nobody sleeps through one.
#include "runtime/sync/notifications.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <random>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/runtime/sync/shared_node.h"

namespace weft {
namespace {

const Deadline kExpired = Deadline::AtMonotonicNanos(0);

class NotificationsTest : public ::testing::Test {
 protected:
  void AwaitSleeper() {
    while (control_.doorbell.state.load() == 0) std::this_thread::yield();
  }
  uint64_t* Word(size_t index) { return reinterpret_cast<uint64_t*>(&node_.word(index)); }

  SharedNode node_{2};
  NodeView view_ = node_.view(0);
  ControlRegion& control_ = view_.control(0);
  NotificationState state_{view_, {}};
};

TEST_F(NotificationsTest, ArrivalsAreConsumedOnce) {
  for (int i = 0; i < 5; ++i) Raise(control_, 7);
  EXPECT_EQ(state_.Pending(7), 5u);
  EXPECT_TRUE(state_.Wait(7, 2, kExpired).ok());
  EXPECT_TRUE(state_.TryConsume(7, 2));
  EXPECT_FALSE(state_.TryConsume(7, 2));
  EXPECT_EQ(state_.Pending(7), 1u);
  EXPECT_EQ(state_.Pending(6), 0u);
  EXPECT_EQ(state_.Pending(8), 0u);
}

TEST_F(NotificationsTest, NoArrivalsAreThereAtOnce) {
  EXPECT_TRUE(state_.Wait(0, 0, kExpired).ok());
  EXPECT_TRUE(state_.WaitSignal(Word(0), 0, kExpired).ok());
}

TEST_F(NotificationsTest, ALateWaitConsumesNothingAndSaysHowManyCame) {
  Raise(control_, 1);
  Raise(control_, 1);
  const absl::Status status = state_.Wait(1, 3, Deadline::After(absl::Milliseconds(5)));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.message().find("waited for 3 arrivals, of which 2 came"), std::string::npos)
      << status;
  EXPECT_EQ(state_.Pending(1), 2u);
}

TEST_F(NotificationsTest, OpenForgetsWhatArrivedBefore) {
  Raise(control_, 2);
  state_.Open(2);
  EXPECT_EQ(state_.Pending(2), 0u);
  Raise(control_, 2);
  EXPECT_TRUE(state_.Wait(2, 1, kExpired).ok());
}

TEST_F(NotificationsTest, CountersThatDoNotExistAreRefused) {
  EXPECT_TRUE(state_.Wait(kMaxCounters - 1, 0, kExpired).ok());
  EXPECT_EQ(state_.Wait(kMaxCounters, 1, kExpired).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(state_.Wait(UINT32_MAX, 1, kExpired).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(NotificationsTest, AWildWriteToACounterIsNoArrival) {
  Raise(control_, 0);
  EXPECT_TRUE(state_.Wait(0, 1, kExpired).ok());
  control_.counters[0].arrivals = 0;
  EXPECT_EQ(state_.Pending(0), 0u);
  EXPECT_EQ(state_.Wait(0, 1, kExpired).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(NotificationsTest, ASleeperIsWoken) {
  std::thread peer([&] {
    AwaitSleeper();
    Raise(control_, 3);
  });
  EXPECT_TRUE(state_.Wait(3, 1, Deadline()).ok());
  peer.join();
}

TEST_F(NotificationsTest, ASleeperOnASignalIsWoken) {
  std::thread peer([&] {
    AwaitSleeper();
    node_.word(5).fetch_add(41);  // Too little.
    Ring(control_.doorbell);
    AwaitSleeper();
    node_.word(5).fetch_add(2);
    Ring(control_.doorbell);
  });
  EXPECT_TRUE(state_.WaitSignal(Word(5), 42, Deadline()).ok());
  peer.join();
}

TEST_F(NotificationsTest, ALateSignalSaysItsValue) {
  node_.word(1) = 6;
  const absl::Status status = state_.WaitSignal(Word(1), 7, kExpired);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.message().find("offset 8 of rank 0: waited for at least 7, it is 6"),
            std::string::npos)
      << status;
}

TEST_F(NotificationsTest, SignalsLieInTheOwnSlab) {
  uint64_t elsewhere = 9;
  const auto at = [&](size_t offset) {
    return reinterpret_cast<const uint64_t*>(view_.slab(0) + offset);
  };
  EXPECT_TRUE(state_.WaitSignal(at(SharedNode::kSlabBytes - 8), 0, kExpired).ok());
  for (const uint64_t* word : {static_cast<const uint64_t*>(&elsewhere), at(4),
                               at(SharedNode::kSlabBytes), static_cast<const uint64_t*>(nullptr)}) {
    EXPECT_EQ(state_.WaitSignal(word, 0, kExpired).code(), absl::StatusCode::kOutOfRange);
  }
}

TEST_F(NotificationsTest, ADeathEndsAWaitThatIsNotSatisfied) {
  std::thread guard([&] {
    AwaitSleeper();
    node_.MarkDead(1, SIGSEGV);
  });
  const absl::Status status = state_.Wait(0, 2, Deadline());
  guard.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("rank 1 died: killed by signal 11"), std::string::npos) << status;
  EXPECT_EQ(state_.WaitSignal(Word(0), 1, Deadline()).code(), absl::StatusCode::kUnavailable);
  // What came before the death is there.
  Raise(control_, 0);
  EXPECT_TRUE(state_.Wait(0, 1, Deadline()).ok());
}

TEST_F(NotificationsTest, WhoHasLeftEndsNoWait) {
  node_.MarkLeft(1);
  EXPECT_EQ(state_.Wait(0, 1, Deadline::After(absl::Milliseconds(5))).code(),
            absl::StatusCode::kDeadlineExceeded);
  std::thread self([&] {
    AwaitSleeper();
    Raise(control_, 0);
  });
  EXPECT_TRUE(state_.Wait(0, 1, Deadline()).ok());
  self.join();
}

TEST_F(NotificationsTest, ProgressIsMadeWhileItWaits) {
  int steps = 0;
  NotificationState state(view_, {.step =
                                      [&] {
                                        if (++steps % 20 == 0) Raise(control_, 0);
                                      },
                                  .every_ns = 100'000});
  EXPECT_TRUE(state.Wait(0, 3, Deadline()).ok());
  EXPECT_EQ(steps, 60);
}

// Many threads wait on one counter, for different numbers, while others raise.
TEST_F(NotificationsTest, SeveralThreadsConsumeEachArrivalOnce) {
  constexpr uint64_t kWaits = 3000;
  constexpr uint64_t kThreads = 4;
  std::vector<std::thread> threads;
  uint64_t total = 0;
  for (uint64_t t = 1; t <= kThreads; ++t) {
    total += t * kWaits;
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kWaits; ++i) ASSERT_TRUE(state_.Wait(9, t, Deadline()).ok());
    });
  }
  threads.emplace_back([&] {
    for (uint64_t i = 0; i < total / 2; ++i) {
      Raise(control_, 9);
      if (i % 100 == 0) sched_yield();
    }
  });
  for (uint64_t i = 0; i < total - total / 2; ++i) {
    Raise(control_, 9);
    if (i % 1000 == 0) absl::SleepFor(absl::Microseconds(1200));  // They fall asleep.
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(state_.Pending(9), 0u);
}

// No waiting, so that the threads collide as often as they can.
TEST_F(NotificationsTest, ThreadsThatCompeteConsumeExactlyWhatArrived) {
  constexpr uint64_t kArrivals = 1'000'000;
  control_.counters[4].arrivals = kArrivals;
  std::atomic<uint64_t> consumed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      uint64_t mine = 0;
      while (state_.TryConsume(4, 1)) ++mine;
      consumed += mine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(consumed, kArrivals);
  EXPECT_EQ(state_.Pending(4), 0u);
}

// --- With a process a rank. ---------------------------------------------------

TEST(NotificationProcesses, ABurstOfAMillionIsCountedExactly) {
  constexpr uint64_t kBurst = 1'000'000;
  const SharedNode node(3);
  const auto statuses = node.Run([&](const NodeView& view) {
    if (view.rank != 0) {
      for (uint64_t i = 0; i < kBurst / 2; ++i) Raise(view.control(0), 0);
      return;
    }
    NotificationState state(view, {});
    // In pieces, so that it sleeps and wakes in the midst of it.
    std::minstd_rand random(1);
    for (uint64_t left = kBurst; left > 0;) {
      const uint64_t n = std::min<uint64_t>(left, 1 + random() % 10'000);
      ASSERT_TRUE(state.Wait(0, n, Deadline()).ok());
      left -= n;
    }
    EXPECT_EQ(state.Pending(0), 0u);
    node.word(0) = kBurst;
  });
  EXPECT_TRUE(AllSucceeded(statuses));
  EXPECT_EQ(node.word(0), kBurst);
}

// A ring of ranks, each with a counter from its left neighbour. The data that go
// with a notification are plain stores, checked at arrival. Every delay that
// moves a wait from one stage to the next occurs; no wait has a time limit, so
// that a lost wake-up hangs the test.
void PassRound(Rank size, bool one_cpu) {
  constexpr uint64_t kRounds = 4000;
  const SharedNode node(size);
  const auto statuses = node.Run([&](const NodeView& view) {
    if (one_cpu) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(0, &set);
      sched_setaffinity(0, sizeof(set), &set);
    }
    NotificationState state(view, {});
    const Rank right = (view.rank + 1) % size;
    std::minstd_rand random(view.rank + 1);
    const auto send = [&](uint64_t value) {
      memcpy(view.slab(right) + 4096, &value, sizeof(value));
      Raise(view.control(right), 3);
    };
    if (view.rank == 0) send(1);
    for (uint64_t round = 1; round <= kRounds; ++round) {
      ASSERT_TRUE(state.Wait(3, 1, Deadline()).ok());
      uint64_t value;
      memcpy(&value, view.slab(view.rank) + 4096, sizeof(value));
      ASSERT_EQ(value, (round - 1) * size + (view.rank == 0 ? size : view.rank));
      const uint32_t dice = random() % 1000;
      if (dice < 20) {
        absl::SleepFor(absl::Microseconds(900 + random() % 400));  // About the budget.
      } else if (dice < 200) {
        for (uint32_t i = random() % 400; i > 0; --i) CpuPause();
      }
      if (view.rank != 0 || round < kRounds) send(value + 1);
    }
    EXPECT_EQ(state.Pending(3), 0u);
    node.word(100 + view.rank) = kRounds;
  });
  EXPECT_TRUE(AllSucceeded(statuses));
  for (Rank r = 0; r < size; ++r) EXPECT_EQ(node.word(100 + r), kRounds);
}

TEST(NotificationProcesses, DataPrecedeTheirNotificationTwoRanks) { PassRound(2, false); }
TEST(NotificationProcesses, DataPrecedeTheirNotificationTwoRanksOnOneCpu) { PassRound(2, true); }
TEST(NotificationProcesses, DataPrecedeTheirNotificationFiveRanks) { PassRound(5, false); }

TEST(NotificationProcesses, EverySurvivorNamesTheRankThatIsKilled) {
  const SharedNode node(4);
  const auto statuses = node.Run([&](const NodeView& view) {
    if (view.rank == 2) {
      absl::SleepFor(absl::Milliseconds(20));
      kill(getpid(), SIGKILL);
    }
    NotificationState state(view, {});
    const absl::Status status = state.Wait(0, 1, Deadline());
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_NE(status.message().find("rank 2 died: killed by signal 9"), std::string::npos)
        << status;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0, SIGKILL, 0}));
}

}  // namespace
}  // namespace weft
