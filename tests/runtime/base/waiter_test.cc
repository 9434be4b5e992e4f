// The Waiter: each way a wait can end, at each stage of the wait, and no lost
// wake-up whichever stage it is in.
#include "runtime/base/waiter.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/doorbell.h"

namespace weft {
namespace {

using Outcome = Waiter::Outcome;

class WaiterTest : public ::testing::Test {
 protected:
  Outcome Wait(absl::FunctionRef<bool()> ready, Deadline deadline = Deadline(),
               const Waiter::Options& options = {}) {
    return waiter_.Wait(ready, bell_, *membership_, 0, deadline, options);
  }

  void AwaitSleeper() {
    while (bell_.state.load() == 0) std::this_thread::yield();
  }

  Waiter waiter_;
  DoorbellLine bell_{};
  // Large, and all zero as shared memory is.
  std::unique_ptr<Membership> membership_ = std::make_unique<Membership>();
};

TEST_F(WaiterTest, ReadyComesBeforeDeadlineAndMembership) {
  membership_->changes = 5;
  EXPECT_EQ(Wait([] { return true; }, Deadline::AtMonotonicNanos(0)), Outcome::kReady);
}

TEST_F(WaiterTest, ReadyWithinTheSpinsTouchesNothingElse) {
  int looks = 0;
  int progressed = 0;
  const std::function<void()> progress = [&] { ++progressed; };
  membership_->changes = 1;
  EXPECT_EQ(Wait([&] { return ++looks == 10; }, Deadline::AtMonotonicNanos(0),
                 {.spins = 20, .progress = &progress}),
            Outcome::kReady);
  EXPECT_EQ(looks, 10);
  EXPECT_EQ(progressed, 0);
}

TEST_F(WaiterTest, ExpiredDeadlineEndsAtOnce) {
  EXPECT_EQ(Wait([] { return false; }, Deadline::AtMonotonicNanos(0)), Outcome::kDeadline);
}

TEST_F(WaiterTest, DeadlineEndsASleep) {
  // Again, should all of the time have gone by in one yield to a busy process.
  for (int64_t wait = 30'000'000; bell_.state.load() == 0; wait *= 2) {
    const int64_t start = MonotonicNanos();
    EXPECT_EQ(Wait([] { return false; }, Deadline::AtMonotonicNanos(start + wait)),
              Outcome::kDeadline);
    EXPECT_GE(MonotonicNanos() - start, wait);
  }
}

TEST_F(WaiterTest, MembershipIsSeenBeforeTheFirstYield) {
  membership_->changes = 1;
  int looks = 0;
  EXPECT_EQ(Wait([&] {
              ++looks;
              return false;
            }),
            Outcome::kMembershipChanged);
  EXPECT_GE(looks, 2);
}

TEST_F(WaiterTest, LooksOnceMoreAfterAChange) {
  membership_->changes = 1;
  int looks = 0;
  EXPECT_EQ(Wait([&] { return ++looks == 3; }), Outcome::kReady);
}

TEST_F(WaiterTest, MembershipChangeWakesASleeper) {
  std::thread guard([&] {
    AwaitSleeper();
    membership_->changes.fetch_add(1);
    RingAlways(bell_);
  });
  EXPECT_EQ(Wait([] { return false; }), Outcome::kMembershipChanged);
  guard.join();
}

TEST_F(WaiterTest, RingWakesASleeper) {
  std::atomic<bool> done = false;
  std::thread ringer([&] {
    AwaitSleeper();
    done.exchange(true);
    Ring(bell_);
  });
  EXPECT_EQ(Wait([&] { return done.load(); }), Outcome::kReady);
  ringer.join();
}

TEST_F(WaiterTest, RingsForOthersDoNotEndTheWait) {
  std::atomic<int> arrivals = 0;
  std::thread ringer([&] {
    for (int i = 0; i < 20; ++i) {
      AwaitSleeper();
      arrivals.fetch_add(1);
      Ring(bell_);
    }
  });
  EXPECT_EQ(Wait([&] { return arrivals.load() == 20; }), Outcome::kReady);
  ringer.join();
}

TEST_F(WaiterTest, LooksAgainInTimeWithoutARing) {
  std::atomic<bool> done = false;
  std::thread silent([&] {
    AwaitSleeper();
    done = true;
  });
  EXPECT_EQ(Wait([&] { return done.load(); }, Deadline(), {.max_sleep_ns = 1'000'000}),
            Outcome::kReady);
  silent.join();
}

TEST_F(WaiterTest, ProgressMakesItReady) {
  int steps = 0;
  const std::function<void()> progress = [&] { ++steps; };
  EXPECT_EQ(Wait([&] { return steps >= 10; }, Deadline(),
                 {.spins = 3, .max_sleep_ns = 1'000'000, .progress = &progress}),
            Outcome::kReady);
  EXPECT_EQ(steps, 10);
}

TEST_F(WaiterTest, OversubscribedGoesByTheMachine) {
  EXPECT_FALSE(Oversubscribed(1));
  EXPECT_TRUE(Oversubscribed(kMaxRanks));
}

// Two threads pass a turn to and fro after pauses that put the other into each
// of its stages: spinning, yielding, between arming and sleeping, asleep. No
// wait has a time limit: a lost wake-up hangs the test.
TEST_F(WaiterTest, NoWakeUpIsLostInAnyStage) {
  constexpr uint64_t kTurns = 30'000;
  DoorbellLine bells[2] = {};
  Waiter waiters[2];
  std::atomic<uint64_t> turn = 0;
  auto play = [&](uint64_t me) {
    std::minstd_rand random(static_cast<uint32_t>(me + 1));
    for (uint64_t mine = me; mine < kTurns; mine += 2) {
      const Waiter::Options options = {.spins = static_cast<int>(random() % 3) * 50};
      ASSERT_EQ(waiters[me].Wait([&] { return turn.load(std::memory_order_acquire) == mine; },
                                 bells[me], *membership_, 0, Deadline(), options),
                Outcome::kReady);
      const uint32_t dice = random() % 100;
      if (dice == 0) {
        absl::SleepFor(absl::Microseconds(900 + random() % 400));  // About the budget.
      } else if (dice < 30) {
        for (uint32_t i = random() % 300; i > 0; --i) CpuPause();
      }
      turn.fetch_add(1);
      Ring(bells[1 - me]);
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(turn.load(), kTurns);
}

}  // namespace
}  // namespace weft
