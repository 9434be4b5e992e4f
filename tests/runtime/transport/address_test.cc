// The bounds check agrees with arithmetic that cannot wrap.
#include "runtime/transport/address.h"

#include <gtest/gtest.h>

#include <random>

namespace weft {
namespace {

bool Oracle(uint64_t offset, uint64_t length, uint64_t size) {
  return static_cast<unsigned __int128>(offset) + length <= size;
}

TEST(Bounds, AgreesWithWideArithmeticOnAMillionTriples) {
  std::mt19937_64 random(1);
  // Near the powers of two, where sums wrap, as often as anywhere.
  const auto draw = [&random]() -> uint64_t {
    const uint64_t bits = random();
    const unsigned shift = random() % 64;
    switch (random() % 4) {
      case 0:
        return bits;
      case 1:
        return bits >> shift;
      case 2:
        return (uint64_t{1} << shift) + bits % 33 - 16;
      default:
        return bits % 33 - 16;  // Around 0 and 2^64.
    }
  };
  int inside = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    uint64_t offset = draw();
    const uint64_t length = draw();
    const uint64_t size = draw();
    if (i % 2 == 0) offset = size - draw() % 64;
    ASSERT_EQ(InBounds(offset, length, size), Oracle(offset, length, size))
        << offset << " " << length << " " << size;
    inside += Oracle(offset, length, size);
  }
  EXPECT_GT(inside, 10'000);
  EXPECT_LT(inside, 990'000);
}

TEST(Bounds, Corners) {
  EXPECT_TRUE(InBounds(0, 0, 0));
  EXPECT_TRUE(InBounds(8, 0, 8));
  EXPECT_FALSE(InBounds(9, 0, 8));
  EXPECT_FALSE(InBounds(1, 8, 8));
  EXPECT_FALSE(InBounds(UINT64_MAX - 15, 32, 4096));
  EXPECT_FALSE(InBounds(UINT64_MAX, UINT64_MAX, UINT64_MAX));
  EXPECT_TRUE(InBounds(0, UINT64_MAX, UINT64_MAX));
}

TEST(CarriesOut, TheAtomicsOfADeviceAreThreeOfEightBytes) {
  constexpr auto kDevice = Transport::Atomics::kAddAndCompareSwap64;
  for (const Op::Kind kind :
       {Op::Kind::kFetchAdd, Op::Kind::kCompareSwap, Op::Kind::kSwap, Op::Kind::kFetch,
        Op::Kind::kSet, Op::Kind::kAnd, Op::Kind::kOr, Op::Kind::kXor}) {
    const bool device =
        kind == Op::Kind::kFetchAdd || kind == Op::Kind::kCompareSwap || kind == Op::Kind::kFetch;
    EXPECT_EQ(CarriesOut(kDevice, kind, 8), device);
    EXPECT_FALSE(CarriesOut(kDevice, kind, 4));
    EXPECT_TRUE(CarriesOut(Transport::Atomics::kAll, kind, 4));
  }
  EXPECT_TRUE(CarriesOut(kDevice, Op::Kind::kPut, 3));
}

}  // namespace
}  // namespace weft
