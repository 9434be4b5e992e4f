// Offsets past 2^32: a sparse heap of 6 GiB a rank, of which only
// what is written costs memory.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/conformance/fabric.h"

namespace weft {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

class LargeHeap : public testing::TestWithParam<Fabric> {};

TEST_P(LargeHeap, OffsetsAroundThePowersOfTwo) {
  RunOnEngines(GetParam(), 2, 6 * kGiB, [](EngineRank& self) {
    constexpr uint64_t kOffsets[] = {(kGiB << 1) - 4,  (kGiB << 2) - 4,      (kGiB << 2) + 8,
                                     (kGiB << 1) - 64, (kGiB << 2) - 20'000, 6 * kGiB - 40'000};
    std::vector<std::byte> source(40'000), back(40'000);
    if (self.rank() == 0) {
      for (uint64_t offset : kOffsets) {
        for (uint64_t length : {4, 8, 100, 40'000}) {
          FillPattern(source.data(), length, offset + length);
          ASSERT_TRUE(self.Put(1, offset, source.data(), length).ok());
          ASSERT_TRUE(self.Get(1, offset, back.data(), length).ok());
          ASSERT_EQ(std::memcmp(source.data(), back.data(), length), 0) << offset;
        }
      }
      uint64_t old = 1;
      ASSERT_TRUE(self.engine()
                      .Run({.kind = Op::Kind::kFetchAdd,
                            .peer = 1,
                            .offset = 5 * kGiB,
                            .destination = &old,
                            .length = 8,
                            .operand = 3},
                           EngineRank::Soon())
                      .ok());
      EXPECT_EQ(old, 0u);
      EXPECT_TRUE(absl::IsOutOfRange(self.Put(1, 6 * kGiB - 4, source.data(), 8)));
    }
    self.Meet();
    if (self.rank() == 1) {
      FillPattern(source.data(), 40'000, kOffsets[5] + 40'000);
      EXPECT_EQ(std::memcmp(self.slab() + kOffsets[5], source.data(), 40'000), 0);
      // What a 32-bit offset would have hit.
      EXPECT_TRUE(AllBytesAre(std::byte{0}, self.slab(), 1 << 20));
    }
    self.Meet();
  });
}

INSTANTIATE_TEST_SUITE_P(All, LargeHeap, testing::ValuesIn(BareFabrics()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
