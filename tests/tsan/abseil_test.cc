// Abseil across threads: with an Abseil that ThreadSanitizer does not see into, each of
// these is reported as a race.
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 2000;

TEST(Abseil, MutexOrders) {
  absl::Mutex mutex;
  int sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        absl::MutexLock lock(&mutex);
        ++sum;
      }
    });
  }
  {
    absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(
        +[](int* value) { return *value == kThreads * kRounds; }, &sum));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, kThreads * kRounds);
}

TEST(Abseil, CondVarWithTimeoutOrders) {
  absl::Mutex mutex;
  absl::CondVar changed;
  int turn = 0;
  auto play = [&](int me) {
    for (int i = 0; i < kRounds; ++i) {
      absl::MutexLock lock(&mutex);
      while (turn % 2 != me) changed.WaitWithTimeout(&mutex, absl::Milliseconds(1));
      ++turn;
      changed.SignalAll();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(turn, 2 * kRounds);
}

TEST(Abseil, StatusCrossesThreads) {
  for (int i = 0; i < kRounds / 10; ++i) {
    absl::Notification ready;
    absl::Status status;
    std::vector<std::thread> readers;
    for (int t = 0; t < kThreads; ++t) {
      readers.emplace_back([&] {
        ready.WaitForNotification();
        const absl::Status copy = status;
        EXPECT_EQ(copy.code(), absl::StatusCode::kUnavailable);
      });
    }
    status = absl::UnavailableError(absl::StrCat("rank ", i, " died"));
    status.SetPayload("weft/rank", absl::Cord(std::to_string(i)));
    ready.Notify();
    for (std::thread& reader : readers) reader.join();
  }
}

}  // namespace
