// The staging pool: bounded, buffers never overlap, large ones help small ones out.
#include "runtime/engine/staging.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

namespace weft {
namespace {

TEST(StagingPool, IsBoundedAndReusesWhatIsFreed) {
  StagingPool pool;
  std::set<std::byte*> buffers;
  while (std::byte* buffer = pool.Allocate(StagingPool::kLargeBytes)) {
    EXPECT_TRUE(buffers.insert(buffer).second);
  }
  EXPECT_EQ(buffers.size(), StagingPool::kLargeBuffers);
  std::byte* const one = *buffers.begin();
  pool.Free(one);
  EXPECT_EQ(pool.Allocate(StagingPool::kSmallBytes + 1), one);
}

TEST(StagingPool, RefusesWhatIsTooLong) {
  StagingPool pool;
  EXPECT_EQ(pool.Allocate(StagingPool::kLargeBytes + 1), nullptr);
}

TEST(StagingPool, SmallOnesTakeLargeBuffersWhenTheirsAreUsedUp) {
  StagingPool pool;
  size_t count = 0;
  while (pool.Allocate(9) != nullptr) ++count;
  EXPECT_EQ(count, StagingPool::kSmallBuffers + StagingPool::kLargeBuffers);
}

TEST(StagingPool, BuffersKeepTheirContent) {
  std::mt19937 random(1);
  StagingPool pool;
  struct Held {
    std::byte* buffer;
    size_t bytes;
    int mark;
  };
  std::vector<Held> held;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0) {
      const size_t bytes = random() % 4 == 0 ? 2 + random() % (StagingPool::kLargeBytes - 1)
                                             : 2 + random() % (StagingPool::kSmallBytes - 1);
      std::byte* const buffer = pool.Allocate(bytes);
      if (buffer == nullptr) continue;
      held.push_back({buffer, bytes, static_cast<int>(random() % 256)});
      std::memset(buffer, held.back().mark, bytes);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      const Held& last = held.back();
      ASSERT_EQ(last.buffer[0], std::byte(last.mark));
      ASSERT_EQ(std::memcmp(last.buffer, last.buffer + 1, last.bytes - 1), 0);
      pool.Free(last.buffer);
      held.pop_back();
    }
  }
}

}  // namespace
}  // namespace weft
