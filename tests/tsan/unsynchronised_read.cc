// A planted race between two ranks: one puts into the memory of the other, which reads it
// without having waited for anything.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "tests/conformance/fabric.h"

namespace weft {
namespace {

TEST(PlantedRace, UnsynchronisedRead) {
  const Fabric threads = BareFabrics().front();
  ASSERT_FALSE(threads.processes);
  RunOnEngines(threads, 2, 1 << 16, [](EngineRank& self) {
    if (self.rank() == 0) {
      const std::vector<std::byte> source(4096, std::byte{1});
      EXPECT_TRUE(self.Put(1, 0, source.data(), source.size()).ok());
    } else {
      const volatile std::byte* const arrived = self.slab();
      std::byte last{};
      for (int i = 0; i < 1000; ++i) last = arrived[8];
      EXPECT_TRUE(last == std::byte{0} || last == std::byte{1});
    }
  });
}

}  // namespace
}  // namespace weft
