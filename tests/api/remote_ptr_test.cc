// RemotePtr: one word, the same arithmetic as a pointer, and its null.
#include "weft/remote_ptr.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

namespace weft {
namespace {

struct Node {
  RemotePtr<Node> next;  // A type may point to itself.
  int64_t value;
};

TEST(RemotePtr, IsOneTriviallyCopyableWord) {
  static_assert(sizeof(RemotePtr<Node>) == 8);
  static_assert(std::is_trivially_copyable_v<RemotePtr<Node>>);
  static_assert(std::has_unique_object_representations_v<RemotePtr<Node>>);
  static_assert(!std::is_convertible_v<RemotePtr<int>, RemotePtr<long>>);
  static_assert(!std::is_convertible_v<RemotePtr<int>, bool>);
}

TEST(RemotePtr, NullIsZeroAndNobodysAddress) {
  EXPECT_EQ(RemotePtr<int>().bits(), 0u);
  EXPECT_FALSE(RemotePtr<int>(nullptr));
  EXPECT_TRUE(RemotePtr<int>(0, 0)) << "rank 0, offset 0 is an address";
}

TEST(RemotePtr, KeepsRankAndOffsetToTheirLimits) {
  for (Rank rank : {Rank{0}, Rank{1}, kMaxRanks - 1}) {
    for (uint64_t offset : {uint64_t{0}, uint64_t{8}, (uint64_t{1} << 48) - 8}) {
      const RemotePtr<uint64_t> p(rank, offset);
      EXPECT_EQ(p.rank(), rank);
      EXPECT_EQ(p.offset(), offset);
      EXPECT_EQ(RemotePtr<uint64_t>::FromBits(p.bits()), p);
    }
  }
}

TEST(RemotePtr, ArithmeticCountsObjectsAndStaysOnTheRank) {
  RemotePtr<Node> p(3, 64);
  EXPECT_EQ((p + 2).offset(), 64 + 2 * sizeof(Node));
  EXPECT_EQ((p - 4).offset(), 0u);
  EXPECT_EQ((p + 5) - p, 5);
  EXPECT_EQ(p - (p + 5), -5);
  ++p;
  --p;
  EXPECT_EQ(p, RemotePtr<Node>(3, 64));
  EXPECT_LT(p, p + 1);
  // Past either end of the 48 bits it wraps, and never into another rank.
  EXPECT_EQ((RemotePtr<uint64_t>(3, 0) - 1).rank(), 3u);
  EXPECT_EQ((RemotePtr<uint64_t>(3, 0) - 1) + 1, RemotePtr<uint64_t>(3, 0));
  EXPECT_EQ((RemotePtr<uint64_t>(3, (uint64_t{1} << 48) - 8) + 1).rank(), 3u);
}

TEST(RemotePtr, AsReachesMembers) {
  const RemotePtr<Node> p(2, 128);
  const auto value = p.As<int64_t>(offsetof(Node, value));
  EXPECT_EQ(value.rank(), 2u);
  EXPECT_EQ(value.offset(), 128 + offsetof(Node, value));
}

}  // namespace
}  // namespace weft
