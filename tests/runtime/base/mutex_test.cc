#include "runtime/base/mutex.h"

#include <sched.h>

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace weft {
namespace {

// Also when whoever holds it is not running, so that the others sleep.
TEST(Mutex, LetsOneInAtATime) {
  constexpr uint64_t kThreads = 4, kTurns = 20'000;
  Mutex mutex;
  uint64_t turns = 0;
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (uint64_t turn = 0; turn < kTurns; ++turn) {
        const std::lock_guard lock(mutex);
        const uint64_t before = turns;
        if (turn % 64 == 0) sched_yield();
        turns = before + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turns, kThreads * kTurns);
}

TEST(Mutex, IsTriedWithoutWaiting) {
  Mutex mutex;
  ASSERT_TRUE(mutex.try_lock());
  std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  mutex.unlock();
  std::thread([&] {
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  }).join();
}

}  // namespace
}  // namespace weft
