// Case 14: a rank that waits on one object must not hold up operations on its
// others. Rank 1 waits for a signal that rank 0 sends only after it has got,
// put and updated other memory of rank 1.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/support/rank_test.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::weft::testing::TheWorld;

TEST(Case14WaitAndServe, AWaiterIsReachedByOperationsOnOtherObjects) {
  if (TheWorld().size() < 2) return;
  auto flags = Symmetric<uint64_t>::Create(TheWorld(), 1);
  auto data = Symmetric<uint64_t>::Create(TheWorld(), 8192);
  auto counter = NotificationCounter::Create(TheWorld());
  ASSERT_TRUE(flags.ok() && data.ok() && counter.ok());
  for (uint64_t round = 1; round <= 200; ++round) {
    if (TheWorld().rank() == 1) {
      data->mine()[5] = round;
      ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
      if (round % 2 == 0) {
        ASSERT_EQ(WaitSignal(flags->at(1), round), absl::OkStatus());
      } else {
        ASSERT_EQ(counter->Wait(1), absl::OkStatus());
      }
      ASSERT_EQ(data->mine()[6], round) << "put before the flag";
    } else {
      ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
    }
    if (TheWorld().rank() == 0) {
      std::vector<uint64_t> all(8192);
      ASSERT_EQ(Get(data->at(1), all), absl::OkStatus());
      ASSERT_EQ(all[5], round);
      ASSERT_EQ(Put(data->at(1, 6), round), absl::OkStatus());
      ASSERT_EQ(FetchAdd(data->at(1, 7), 1).value_or(0), round - 1);
      if (round % 2 == 0) {
        ASSERT_EQ(Put(data->at(1, 8), 0, SetSignal(flags->at(1), round)), absl::OkStatus());
      } else {
        PostNotify(1, *counter);
      }
    }
    ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
  }
}

}  // namespace
}  // namespace weft
