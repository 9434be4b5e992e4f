// Ranks that are late: who waits is told whom he waits for, and the same call,
// made again, goes on where it was. Ranks are threads, which meet in memory, and then
// by messages, as those of several nodes do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/world/runtime.h"
#include "tests/support/local_job.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::weft::testing::LocalJob;

constexpr Rank kRanks = 3;
constexpr Rank kLate = 2;

World::Options Impatient(absl::Duration patience) {
  return {.heap_bytes = 4 << 20, .wait_deadline = patience};
}

// Everybody makes `call`, rank 2 only when the others have been told that it is
// missing; then all complete.
void AllMake(World& world, std::atomic<int>& told,
             const std::function<absl::Status(World&)>& call) {
  absl::Status status = absl::DeadlineExceededError("");
  if (world.rank() == kLate) {
    while (told < 2) std::this_thread::yield();
  } else {
    // Now and then the other one is missing too.
    while (absl::IsDeadlineExceeded(status) &&
           status.message().find("not arrived: 2;") == absl::string_view::npos) {
      status = call(world);
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    ++told;
  }
  do status = call(world);
  while (absl::IsDeadlineExceeded(status));
  EXPECT_EQ(status, absl::OkStatus());
}

// With a seed all goes through a transport, and is delayed there.
class LateTest : public ::testing::TestWithParam<std::optional<uint64_t>> {};
INSTANTIATE_TEST_SUITE_P(BareAndUnderFaults, LateTest, ::testing::Values(std::nullopt, 1, 2, 3));

TEST_P(LateTest, ABarrierNamesTheMissingRankAndIsReentered) {
  std::atomic<int> told = 0;
  std::atomic<int> after = 0;
  LocalJob(kRanks, Impatient(absl::Milliseconds(30)), GetParam()).Run([&](World& world) {
    AllMake(world, told, [](World& w) { return w.Barrier(); });
    ++after;
    absl::Status status;
    do status = world.Barrier();
    while (absl::IsDeadlineExceeded(status));
    EXPECT_EQ(status, absl::OkStatus());
    EXPECT_EQ(after, static_cast<int>(kRanks)) << "all are in step";
  });
}

TEST_P(LateTest, CreateNamesTheMissingRankAndIsReentered) {
  std::atomic<int> told = 0;
  std::atomic<int> told_of_counter = 0;
  LocalJob(kRanks, Impatient(absl::Milliseconds(30)), GetParam()).Run([&](World& world) {
    AllMake(world, told, [](World& w) { return Symmetric<int>::Create(w, 10).status(); });
    AllMake(world, told_of_counter,
            [](World& w) { return NotificationCounter::Create(w).status(); });
  });
}

// Wherever in it a Create is late, made again it gives the same object to all,
// zeroed, and erases nothing that a faster rank has put there.
TEST_P(LateTest, CreatesThatAreLateAllTheTimeLoseNothing) {
  std::atomic<int> late = 0;
  LocalJob(kRanks, Impatient(absl::Microseconds(100)), GetParam()).Run([&](World& world) {
    const auto insist = [&](const auto& call) {
      for (;;) {
        auto result = call();
        if (!absl::IsDeadlineExceeded(result.status())) return result;
        ++late;
      }
    };
    const internal::Reach& reach = world.team().runtime()->reach();
    const Rank right = (world.rank() + 1) % kRanks;
    for (uint64_t round = 1; round <= 100; ++round) {
      auto words = insist([&] { return Symmetric<uint64_t>::Create(world, 512); });
      ASSERT_TRUE(words.ok()) << words.status();
      auto arrived = insist([&] { return NotificationCounter::Create(world); });
      ASSERT_TRUE(arrived.ok()) << arrived.status();
      ASSERT_EQ(words->mine()[511], 0u);
      ASSERT_TRUE(internal::Put(reach, words->at(right, 7), round, *arrived).ok());
      absl::Status status;
      do status = arrived->Wait(1);
      while (absl::IsDeadlineExceeded(status));
      ASSERT_EQ(status, absl::OkStatus());
      ASSERT_EQ(words->mine()[7], round);
      words->mine()[511] = 1;  // For the one that gets this place next.
    }
  });
  EXPECT_GT(late, 0);
}

TEST_P(LateTest, AnotherCallInPlaceOfALateOneIsRefused) {
  std::atomic<bool> refused = false;
  LocalJob(2, Impatient(absl::Milliseconds(20)), GetParam()).Run([&](World& world) {
    absl::Status status;
    if (world.rank() == 0) {
      EXPECT_EQ(world.Barrier().code(), absl::StatusCode::kDeadlineExceeded);
      status = Symmetric<int>::Create(world).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("make that call again first"));
      refused = true;
    }
    while (!refused) std::this_thread::yield();
    do status = world.Barrier();
    while (absl::IsDeadlineExceeded(status));
    EXPECT_EQ(status, absl::OkStatus());
  });
}

TEST_P(LateTest, ALeaveNamesWhoIsStillThere) {
  std::atomic<bool> told = false;
  LocalJob(2, Impatient(absl::Milliseconds(20)), GetParam()).Run([&](World& world) {
    if (world.rank() == 0) {
      const absl::Status left = world.Leave();
      EXPECT_EQ(left.code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_THAT(std::string(left.message()), HasSubstr("rank 1 has not left"));
      EXPECT_EQ(world.Leave().code(), absl::StatusCode::kFailedPrecondition) << "it has left";
      told = true;
    } else {
      while (!told) std::this_thread::yield();
      // Nobody can meet it any more, which is said at once.
      const absl::Status met = world.Barrier();
      EXPECT_EQ(met.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(std::string(met.message()), HasSubstr("rank 0 has left"));
      EXPECT_EQ(world.Leave(), absl::OkStatus());
    }
  });
}

// Who is through the last barrier leaves at once, whatever the others still wait for.
TEST_P(LateTest, ALeaveRightAfterABarrierHoldsNobodyUp) {
  for (int i = 0; i < 30; ++i) {
    LocalJob(5, Impatient(absl::Minutes(1)), GetParam()).Run([](World& world) {
      EXPECT_EQ(world.Barrier(), absl::OkStatus());
      EXPECT_EQ(world.Leave(), absl::OkStatus());
    });
  }
}

TEST_P(LateTest, AWaitThatIsLateConsumesNothing) {
  std::atomic<int> told = 0;
  LocalJob(2, Impatient(absl::Milliseconds(20)), GetParam()).Run([&](World& world) {
    const internal::Reach& reach = world.team().runtime()->reach();
    auto create = [&] { return NotificationCounter::Create(world); };
    auto arrived = create();
    while (absl::IsDeadlineExceeded(arrived.status())) arrived = create();
    ASSERT_TRUE(arrived.ok()) << arrived.status();
    if (world.rank() == 0) {
      internal::PostNotify(reach, 1, *arrived);
      while (told == 0) std::this_thread::yield();
      internal::PostNotify(reach, 1, *arrived);
      return;
    }
    const absl::Status late = arrived->Wait(2);
    EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(std::string(late.message()), HasSubstr("nothing was consumed"));
    ++told;
    EXPECT_EQ(arrived->WaitUntil(2, absl::InfiniteFuture()), absl::OkStatus());
    EXPECT_EQ(arrived->Arrived(), 0u);
  });
}

}  // namespace
}  // namespace weft
