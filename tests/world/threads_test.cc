// The whole of a world with ranks as threads, for ThreadSanitizer: accesses,
// atomics, notifications, signals, barriers, symmetric memory, bare and with
// operations delayed, until one rank is marked dead in the middle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/control_layout.h"
#include "runtime/base/deadline.h"
#include "runtime/world/runtime.h"
#include "tests/support/local_job.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::weft::testing::LocalJob;

constexpr Rank kRanks = 3;
constexpr Rank kVictim = 2;
// Nothing waits for ever, in case that one of them fails.
const World::Options kOptions = {.heap_bytes = 4 << 20, .wait_deadline = absl::Seconds(60)};
constexpr size_t kWords = 300;

// Waits for the other threads, which may have failed.
void Await(const std::atomic<uint32_t>& count, uint32_t value) {
  const Deadline deadline = Deadline::After(absl::Seconds(60));
  while (count < value && !deadline.Expired()) std::this_thread::yield();
}

// One rank's side.
class Worker {
 public:
  explicit Worker(World& world)
      : world_(world),
        reach_(world.team().runtime()->reach()),
        right_((world.rank() + 1) % kRanks),
        left_((world.rank() + kRanks - 1) % kRanks) {}

  absl::Status Prepare() {
    words_.emplace(WEFT_TRY(Symmetric<uint64_t>::Create(world_, 2 * kWords)));
    arrived_.emplace(WEFT_TRY(NotificationCounter::Create(world_)));
    return world_.Barrier();
  }

  // All ranks do `round` together.
  absl::Status Round(uint64_t round) {
    WEFT_TRY(Notifications(round));
    WEFT_TRY(Atomics(round));
    if (round % 4 == 0) WEFT_TRY(Objects(round));
    return world_.Barrier();
  }

 private:
  absl::Status Notifications(uint64_t round) {
    const std::vector<uint64_t> block(1 + round % kWords, round);
    internal::PostPut<uint64_t>(reach_, words_->at(right_, kWords), block, *arrived_);
    WEFT_TRY(arrived_->Wait(1));
    EXPECT_EQ(words_->mine()[kWords], round);
    EXPECT_EQ(words_->mine()[kWords + round % kWords], round);
    internal::PostPut(reach_, words_->at(left_, 1), round, AddSignal(words_->at(left_, 2), 1));
    WEFT_TRY(internal::WaitSignal(reach_, words_->at(world_.rank(), 2), round, 0));
    EXPECT_EQ(words_->mine()[1], round);
    return absl::OkStatus();
  }

  absl::Status Atomics(uint64_t round) {
    using enum internal::AtomicKind;
    for (Rank rank = 0; rank < kRanks; ++rank) {
      WEFT_TRY(internal::Atomic<kAdd>(reach_, words_->at(rank, 3), uint64_t{1}));
    }
    internal::PostAtomic<kAdd>(reach_, words_->at(right_, 3), uint64_t{1});
    Future<uint64_t> get = internal::AsyncGet(reach_, words_->at(left_, 3));
    WEFT_TRY(get.Wait());
    WEFT_TRY(world_.Barrier());
    const Membership& membership = *world_.team().runtime()->node().membership;
    // Posts to a rank that has died since are lost.
    if (membership.state[kVictim].load() != MemberState::kDead) {
      EXPECT_EQ(words_->mine()[3], round * (kRanks + 1)) << "flushed by the barrier";
    }
    return absl::OkStatus();
  }

  absl::Status Objects(uint64_t round) {
    const auto table = WEFT_TRY(Symmetric<uint64_t>::Create(world_, round));
    EXPECT_EQ(table.mine()[round - 1], 0u);
    // Threads of one rank, too.
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        const auto at = table.at(right_, t);
        if (!internal::Put(reach_, at, round, {}).ok()) ++failures;
        if (!internal::Flush(reach_, right_).ok()) ++failures;
        const auto value = internal::Get(reach_, at);
        if (!value.ok() || *value != round) ++failures;
      });
    }
    for (std::thread& thread : threads) thread.join();
    const absl::Status met = world_.Barrier();
    // A death explains a failure, and is found at the next barrier.
    EXPECT_TRUE(failures == 0 || !met.ok()) << met;
    return met;
  }

  World& world_;
  const internal::Reach& reach_;
  const Rank right_;
  const Rank left_;
  std::optional<Symmetric<uint64_t>> words_;
  std::optional<NotificationCounter> arrived_;
};

std::vector<std::optional<uint64_t>> Seeds() {
  const char* more = std::getenv("WEFT_SEEDS");
  const uint64_t count = more == nullptr ? 4 : std::strtoull(more, nullptr, 10);
  std::vector<std::optional<uint64_t>> seeds = {std::nullopt};
  for (uint64_t seed = 1; seed <= count; ++seed) seeds.push_back(seed);
  return seeds;
}

class ThreadsTest : public ::testing::TestWithParam<std::optional<uint64_t>> {};

TEST_P(ThreadsTest, AllRoundsComplete) {
  LocalJob(kRanks, kOptions, GetParam()).Run([](World& world) {
    Worker worker(world);
    ASSERT_EQ(worker.Prepare(), absl::OkStatus());
    for (uint64_t round = 1; round <= 40; ++round) {
      ASSERT_EQ(worker.Round(round), absl::OkStatus()) << "round " << round;
    }
    EXPECT_EQ(world.Leave(), absl::OkStatus());
  });
}

TEST_P(ThreadsTest, ADeathInTheMiddleIsToldToAll) {
  LocalJob job(kRanks, kOptions, GetParam());
  std::atomic<uint32_t> started = 0;
  std::thread guard([&] {
    Await(started, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(GetParam().value_or(5)));
    job.MarkDead(kVictim, SIGKILL);
  });
  std::atomic<uint32_t> left = 0;
  job.Run([&](World& world) {
    Worker worker(world);
    ASSERT_EQ(worker.Prepare(), absl::OkStatus());
    ++started;
    absl::Status status;
    for (uint64_t round = 1; status.ok(); ++round) status = worker.Round(round);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 2 died: killed by signal 9"));
    if (world.rank() == kVictim) {
      Await(left, kRanks - 1);  // Leaving would say that it is not dead.
      return;
    }
    EXPECT_EQ(world.Leave().code(), absl::StatusCode::kUnavailable);
    ++left;
  });
  guard.join();
}

INSTANTIATE_TEST_SUITE_P(Faults, ThreadsTest, ::testing::ValuesIn(Seeds()), [](const auto& info) {
  return info.param ? "Seed" + std::to_string(*info.param) : "Bare";
});

}  // namespace
}  // namespace weft
