#include "tools/weftrun/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Binding = Options::Binding;

TEST(BindingTest, FewerRanksThanCpusShareThemAll) {
  const std::vector<int> cpus = {0, 1, 2, 3, 8, 9};
  EXPECT_THAT(CpusOf(0, 2, Binding::kEven, cpus), ElementsAre(0, 1, 2));
  EXPECT_THAT(CpusOf(1, 2, Binding::kEven, cpus), ElementsAre(3, 8, 9));
  EXPECT_THAT(CpusOf(1, 2, Binding::kCpu, cpus), ElementsAre(3));
  EXPECT_THAT(CpusOf(1, 2, Binding::kNone, cpus), IsEmpty());
  EXPECT_THAT(CpusOf(0, 1, Binding::kEven, {}), IsEmpty());
}

TEST(BindingTest, EveryCpuGetsItsShare) {
  for (const int count : {1, 2, 3, 7, 16}) {
    std::vector<int> cpus(static_cast<size_t>(count));
    std::iota(cpus.begin(), cpus.end(), 10);
    for (Rank ranks = 1; ranks <= 40; ++ranks) {
      std::map<int, int> load;
      for (Rank rank = 0; rank < ranks; ++rank) {
        const auto mine = CpusOf(rank, ranks, Binding::kEven, cpus);
        ASSERT_FALSE(mine.empty());
        for (const int cpu : mine) ++load[cpu];
      }
      // All cpus are used, and none has two ranks more than another.
      ASSERT_EQ(load.size(), cpus.size() < ranks ? cpus.size() : load.size());
      const auto [least, most] = std::minmax_element(
          load.begin(), load.end(), [](auto& a, auto& b) { return a.second < b.second; });
      EXPECT_LE(most->second - least->second, 1) << count << " cpus, " << ranks << " ranks";
    }
  }
}

TEST(BindingTest, AllowedCpusAreKnown) { EXPECT_FALSE(AllowedCpus().empty()); }

TEST(BindingTest, ListsAreShort) {
  EXPECT_EQ(CpuList({}), "any");
  EXPECT_EQ(CpuList({3}), "3");
  EXPECT_EQ(CpuList({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

}  // namespace
}  // namespace weft
