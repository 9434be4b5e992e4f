// What a program made in a world may outlive it, in any order: its calls then
// say so, and nothing crashes. Ranks are threads.
#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/world/runtime.h"
#include "tests/support/local_job.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::weft::testing::LocalJob;

struct Made {
  Symmetric<uint64_t> words;
  NotificationCounter arrived;
  Future<uint64_t> get;
  Future<> put;
  std::vector<uint64_t> source;
  Team team;
};

// The seed of the faults, if any.
class OutlivingTest : public ::testing::TestWithParam<std::optional<uint64_t>> {};

Made Make(World& world) {
  const internal::Reach& reach = world.team().runtime()->reach();
  auto words = Symmetric<uint64_t>::Create(world, 100'000);
  auto arrived = NotificationCounter::Create(world);
  EXPECT_TRUE(words.ok() && arrived.ok());
  const Rank right = (world.rank() + 1) % world.size();
  std::vector<uint64_t> source(100'000, 3);
  auto get = internal::AsyncGet(reach, words->at(right));
  auto put = internal::AsyncPut<uint64_t>(reach, words->at(right), source, {});
  return {*std::move(words), *std::move(arrived), std::move(get),
          std::move(put),    std::move(source),   world.team()};
}

void CheckThatItIsOver(Made& made, bool faults) {
  EXPECT_EQ(made.words.mine()[7], 3u) << "the memory is there as long as the object";
  const auto code = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(made.arrived.Wait(1).code(), code);
  EXPECT_EQ(made.arrived.Arrived(), 0u);
  EXPECT_EQ(made.team.Barrier().code(), code);
  EXPECT_EQ(Symmetric<int>::Create(made.team).status().code(), code);
  EXPECT_EQ(NotificationCounter::Create(made.team).status().code(), code);
  const internal::Reach& reach = made.team.runtime()->reach();
  EXPECT_EQ(internal::SlowPut(reach, made.words.at(0).bits(), &made, 8, nullptr).code(), code);
  EXPECT_EQ(internal::SlowFlushAll(reach).code(), code);
  EXPECT_EQ(internal::AllocateLocal(reach, 1, 8, 8).status().code(), code);
  if (faults) {
    // Without faults they were complete at once.
    EXPECT_TRUE(made.get.Ready());
    EXPECT_EQ(made.get.Wait().status().code(), code);
    EXPECT_EQ(made.put.Wait().code(), code);
  }
}

TEST_P(OutlivingTest, TheWorldThatLeft) {
  LocalJob(3, {.heap_bytes = 4 << 20}, GetParam()).Run([&](World& world) {
    Made made = Make(world);
    ASSERT_EQ(world.Leave(), absl::OkStatus());
    CheckThatItIsOver(made, GetParam().has_value());
  });
}

TEST_P(OutlivingTest, TheWorldThatIsGone) {
  std::mutex mutex;
  std::vector<Made> kept;
  LocalJob(3, {.heap_bytes = 4 << 20}, GetParam()).Run([&](World& world) {
    Made made = Make(world);
    const std::lock_guard lock(mutex);
    kept.push_back(std::move(made));
  });
  for (Made& made : kept) CheckThatItIsOver(made, GetParam().has_value());
}

TEST_P(OutlivingTest, FuturesThatAreDroppedAfterTheWorld) {
  LocalJob(2, {.heap_bytes = 4 << 20}, GetParam()).Run([&](World& world) {
    Made made = Make(world);
    World last = std::move(world);
    ASSERT_EQ(last.Leave(), absl::OkStatus());
    EXPECT_EQ(world.Leave().code(), absl::StatusCode::kFailedPrecondition) << "moved from";
  });
}

INSTANTIATE_TEST_SUITE_P(Faults, OutlivingTest,
                         ::testing::Values(std::nullopt, std::optional<uint64_t>(3)),
                         [](const auto& info) { return info.param ? "Fault" : "Bare"; });

}  // namespace
}  // namespace weft
