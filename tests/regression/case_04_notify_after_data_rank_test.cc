// Case 4: a notification that arrives before its data. Blocks of random size
// are put with a notification; the receiver checks all of a block the moment it
// is notified.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "tests/support/rank_test.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::weft::testing::TheWorld;

constexpr size_t kMaxWords = 256 * 1024 / 8;

Rank Right() { return (TheWorld().rank() + 1) % TheWorld().size(); }
Rank Left() { return (TheWorld().rank() + TheWorld().size() - 1) % TheWorld().size(); }

// Sender and receiver draw the same sizes: 1 byte to 256 KiB, each magnitude as often.
class Sizes {
 public:
  explicit Sizes(Rank sender) : random_(sender) {}
  size_t Next() {
    return static_cast<size_t>(std::exp2(std::uniform_real_distribution<double>(0, 18)(random_)));
  }

 private:
  std::mt19937_64 random_;
};

uint64_t Pattern(uint64_t round, size_t word) { return (round << 20 | word) * 0x9e3779b97f4a7c15; }

TEST(Case04NotifyAfterData, EveryBlockIsWholeWhenItsNotificationIsThere) {
  const uint64_t rounds = testing::OperationsAreSlow() ? 1'000 : 50'000;
  auto blocks = Symmetric<uint64_t>::Create(TheWorld(), kMaxWords);
  auto arrived = NotificationCounter::Create(TheWorld());
  auto consumed = NotificationCounter::Create(TheWorld());
  ASSERT_TRUE(blocks.ok() && arrived.ok() && consumed.ok());
  Sizes outgoing(TheWorld().rank());
  Sizes incoming(Left());
  std::vector<uint64_t> source(kMaxWords);
  for (uint64_t round = 1; round <= rounds; ++round) {
    const size_t bytes = outgoing.Next();
    for (size_t i = 0; i <= bytes / 8 && i < kMaxWords; ++i) source[i] = Pattern(round, i);
    const auto to = blocks->at(Right()).As<std::byte>();
    const std::span<const std::byte> data = std::as_bytes(std::span(source)).first(bytes);
    switch (round % 3) {
      case 0:
        ASSERT_EQ(Put(to, data, *arrived), absl::OkStatus());
        break;
      case 1:
        PostPut(to, data, *arrived);
        break;
      default:
        // The notification behind a fence.
        PostPut(to, data);
        Fence(Right());
        PostNotify(Right(), *arrived);
    }
    const size_t expected = incoming.Next();
    ASSERT_EQ(arrived->Wait(1), absl::OkStatus());
    const std::span<const uint64_t> mine = blocks->mine();
    uint64_t wrong = 0;
    for (size_t i = 0; i < expected / 8; ++i) wrong |= mine[i] ^ Pattern(round, i);
    ASSERT_EQ(wrong, 0u) << "round " << round << ", " << expected << " bytes";
    if (expected % 8 != 0) {
      const uint64_t mask = (uint64_t{1} << expected % 8 * 8) - 1;
      ASSERT_EQ((mine[expected / 8] ^ Pattern(round, expected / 8)) & mask, 0u);
    }
    PostNotify(Left(), *consumed);
    ASSERT_EQ(consumed->Wait(1), absl::OkStatus());
    ASSERT_EQ(Flush(Right()), absl::OkStatus()) << "before the source is written again";
  }
  EXPECT_EQ(arrived->Arrived(), 0u);
  ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
}

}  // namespace
}  // namespace weft
