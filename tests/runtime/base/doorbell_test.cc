// The doorbell: nobody sleeps through a ring, and a bell that nobody sleeps on
// needs no system call.
#include "runtime/base/doorbell.h"

#include <gtest/gtest.h>

#include <thread>

namespace weft {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(Doorbell, RingOfAnUnarmedBellLeavesTheFutexWordAlone) {
  DoorbellLine bell{};
  Ring(bell);
  EXPECT_EQ(bell.word.load(), 0u);
}

TEST(Doorbell, RingBetweenArmAndSleepIsNotLost) {
  DoorbellLine bell{};
  const uint32_t ticket = ArmDoorbell(bell);
  Ring(bell);
  SleepOnDoorbell(bell, ticket, 3600 * kSecond);  // The test would time out.
  EXPECT_EQ(bell.state.load(), 0u);
}

TEST(Doorbell, RingAlwaysWakesEvenWhenTheStateWasOverwritten) {
  DoorbellLine bell{};
  std::atomic<bool> done = false;
  std::thread sleeper([&] {
    while (!done) {
      const uint32_t ticket = ArmDoorbell(bell);
      if (done) break;
      SleepOnDoorbell(bell, ticket, 3600 * kSecond);
    }
  });
  while (bell.state.load() == 0) std::this_thread::yield();
  bell.state.store(0);
  done = true;
  RingAlways(bell);
  sleeper.join();
}

// Two threads pass a turn to and fro, each asleep as often as it can be.
TEST(Doorbell, NoWakeUpIsLostInAHundredThousandHandovers) {
  constexpr uint64_t kTurns = 100'000;
  DoorbellLine bells[2] = {};
  std::atomic<uint64_t> turn = 0;
  auto play = [&](uint64_t me) {
    for (uint64_t mine = me; mine < kTurns; mine += 2) {
      while (turn.load() != mine) {
        const uint32_t ticket = ArmDoorbell(bells[me]);
        if (turn.load() == mine) break;
        SleepOnDoorbell(bells[me], ticket, 3600 * kSecond);
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
