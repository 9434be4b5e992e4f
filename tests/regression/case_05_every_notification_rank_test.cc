// Case 5: notifications that are lost when a put completes inline, or when it
// does not. For all sizes, zero among them, and all forms of a put, as many
// arrive as were sent.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tests/support/rank_test.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::weft::testing::TheWorld;

TEST(Case05EveryNotification, ReceivedAreSent) {
  const int repeats = testing::OperationsAreSlow() ? 5 : 500;
  constexpr size_t kMax = 70'000;
  auto bytes = Symmetric<uint8_t>::Create(TheWorld(), kMax + 64);
  auto signals = Symmetric<uint64_t>::Create(TheWorld(), 1);
  auto arrived = NotificationCounter::Create(TheWorld());
  ASSERT_TRUE(bytes.ok() && signals.ok() && arrived.ok());
  const std::vector<uint8_t> source(kMax, 1);
  uint64_t sent = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{8}, size_t{63}, size_t{4096},
                              size_t{16 * 1024}, size_t{16 * 1024 + 1}, kMax}) {
      const std::span<const uint8_t> data = std::span(source).first(size);
      // To everybody, itself too.
      for (Rank to = 0; to < TheWorld().size(); ++to) {
        const auto at = bytes->at(to, repeat % 64);
        ASSERT_EQ(Put(at, data, *arrived), absl::OkStatus());
        PostPut(at, data, *arrived);
        Future<> put = AsyncPut(at, data, *arrived);
        PostNotify(to, *arrived);
        PostPut(at, uint8_t{1}, *arrived);
        PostPut(at, data, AddSignal(signals->at(to), 1));
        ASSERT_EQ(put.Wait(), absl::OkStatus());
      }
      ++sent;
    }
    ASSERT_EQ(Flush(), absl::OkStatus());
  }
  ASSERT_EQ(arrived->Wait(5 * sent * TheWorld().size()), absl::OkStatus());
  ASSERT_EQ(WaitSignal(signals->at(TheWorld().rank()), sent * TheWorld().size()), absl::OkStatus());
  ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
  EXPECT_EQ(arrived->Arrived(), 0u) << "not one more";
  EXPECT_EQ(signals->mine()[0], sent * TheWorld().size());
  ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
}

}  // namespace
}  // namespace weft
