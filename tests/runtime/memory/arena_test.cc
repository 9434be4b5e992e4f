// The arena: alignment, zero size, exhaustion, double free, foreign offsets, reuse.
#include "runtime/memory/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace weft {
namespace {

constexpr uint64_t kBegin = 4096;
constexpr uint64_t kEnd = kBegin + (1 << 20);

TEST(Arena, AlignsAndNeverSharesACacheLine) {
  Arena arena(kBegin, kEnd);
  for (uint64_t alignment = 1; alignment <= Arena::kMaxAlignment; alignment *= 2) {
    auto block = arena.Allocate(3, alignment);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(block->offset % std::max(alignment, Arena::kAlignment), 0u);
    EXPECT_GE(block->bytes, 64u);
  }
  EXPECT_EQ(arena.Allocate(8, 3).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arena.Allocate(8, 8192).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arena.Allocate(8, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Arena, ZeroBytesGiveABlockOfItsOwn) {
  Arena arena(kBegin, kEnd);
  auto a = arena.Allocate(0, 1);
  auto b = arena.Allocate(0, 1);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->offset, b->offset);
  EXPECT_TRUE(arena.Free(a->offset).ok());
  EXPECT_TRUE(arena.Free(b->offset).ok());
}

TEST(Arena, ExhaustionSaysWhatIsLeftAndLosesNothing) {
  Arena arena(kBegin, kEnd);
  auto all = arena.Allocate(kEnd - kBegin, 1);
  ASSERT_TRUE(all.ok());
  const absl::Status full = arena.Allocate(1, 1).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(full.message().find("0 of 1048576 bytes are free"), absl::string_view::npos) << full;
  EXPECT_EQ(arena.Allocate(UINT64_MAX, 1).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(arena.Free(all->offset).ok());
  EXPECT_TRUE(arena.Allocate(kEnd - kBegin, 1).ok());
}

TEST(Arena, DoubleFreeAndForeignOffsetsAreRefused) {
  Arena arena(kBegin, kEnd);
  auto block = arena.Allocate(200, 1);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(arena.Free(block->offset + 64).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arena.Free(0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(arena.Free(kEnd).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(arena.Free(block->offset).ok());
  EXPECT_EQ(arena.Free(block->offset).code(), absl::StatusCode::kInvalidArgument);
}

TEST(Arena, SaysWhatWasUsedBefore) {
  Arena arena(kBegin, kEnd);
  auto a = arena.Allocate(128, 1);
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a->dirty, 0u);
  ASSERT_TRUE(arena.Free(a->offset).ok());
  auto b = arena.Allocate(256, 1);
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b->offset, a->offset);
  EXPECT_EQ(b->dirty, 128u);
}

TEST(Arena, AnEmptyRangeIsFullFromTheStart) {
  Arena arena(kBegin, kBegin);
  EXPECT_EQ(arena.Allocate(0, 1).status().code(), absl::StatusCode::kResourceExhausted);
}

// Against a plain map of what is handed out: no overlap, nothing lost, and two
// arenas that see the same calls agree.
TEST(Arena, RandomCallsNeverOverlapAndStaySymmetric) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Arena arena(kBegin, kEnd);
    Arena twin(kBegin, kEnd);
    std::map<uint64_t, uint64_t> live;
    for (int step = 0; step < 2000; ++step) {
      if (live.empty() || random() % 5 < 3) {
        const uint64_t bytes = random() % (random() % 20 == 0 ? 100'000 : 3'000);
        const uint64_t alignment = uint64_t{1} << random() % 13;
        auto block = arena.Allocate(bytes, alignment);
        auto same = twin.Allocate(bytes, alignment);
        ASSERT_EQ(block.ok(), same.ok());
        if (!block.ok()) continue;
        ASSERT_EQ(block->offset, same->offset);
        ASSERT_GE(block->bytes, bytes);
        ASSERT_EQ(block->offset % alignment, 0u);
        ASSERT_GE(block->offset, kBegin);
        ASSERT_LE(block->offset + block->bytes, kEnd);
        auto next = live.lower_bound(block->offset);
        if (next != live.end()) {
          ASSERT_LE(block->offset + block->bytes, next->first);
        }
        if (next != live.begin()) {
          --next;
          ASSERT_LE(next->first + next->second, block->offset);
        }
        live[block->offset] = block->bytes;
      } else {
        auto victim = std::next(live.begin(), static_cast<int>(random() % live.size()));
        ASSERT_TRUE(arena.Free(victim->first).ok());
        ASSERT_TRUE(twin.Free(victim->first).ok());
        live.erase(victim);
      }
      uint64_t used = 0;
      for (const auto& [offset, bytes] : live) used += bytes;
      ASSERT_EQ(arena.free_bytes(), arena.capacity() - used);
    }
    for (const auto& [offset, bytes] : live) ASSERT_TRUE(arena.Free(offset).ok());
    EXPECT_TRUE(arena.Allocate(arena.capacity(), 1).ok()) << "all pieces merged again";
  }
}

}  // namespace
}  // namespace weft
