// One put of more than 2^31 bytes, with a notification: it commits 3 GiB of
// memory, which is why it stands alone.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "tests/conformance/fabric.h"

namespace weft {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

class LargePut : public testing::TestWithParam<Fabric> {};

TEST_P(LargePut, ThreeGibibytesAreThereAtTheNotification) {
  RunOnEngines(GetParam(), 2, 6 * kGiB, [](EngineRank& self) {
    constexpr uint64_t kBytes = 3 * kGiB;
    constexpr uint64_t kOffset = 2 * kGiB + 16;
    if (self.rank() == 0) {
      // Zeros that cost nothing, but for the last byte.
      void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      ASSERT_NE(memory, MAP_FAILED);
      // Hints, which save most of a million page faults.
      madvise(memory, kBytes, MADV_HUGEPAGE);
      madvise(self.node().slab(1) + 2 * kGiB, kBytes + 4096, MADV_POPULATE_WRITE);
      static_cast<std::byte*>(memory)[kBytes - 1] = std::byte{0x5a};
      const absl::Status status = self.engine().Run({.ride = Ride::kCounter,
                                                     .peer = 1,
                                                     .offset = kOffset,
                                                     .source = memory,
                                                     .length = kBytes,
                                                     .operand = 9},
                                                    EngineRank::Soon());
      EXPECT_TRUE(status.ok()) << status;
      munmap(memory, kBytes);
    } else {
      self.WaitFor([&] { return self.counter(9) == 1; });
      EXPECT_EQ(self.slab()[kOffset + kBytes - 1], std::byte{0x5a});
      EXPECT_EQ(self.slab()[kOffset + kBytes], std::byte{0});
    }
    self.Meet();
  });
}

// Whether ranks are threads or processes makes no difference here.
std::vector<Fabric> OneOfEachTransport() {
  std::vector<Fabric> fabrics = BareFabrics();
  std::erase_if(fabrics, [](const Fabric& fabric) { return fabric.processes; });
  return fabrics;
}

INSTANTIATE_TEST_SUITE_P(All, LargePut, testing::ValuesIn(OneOfEachTransport()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
