// The Engine's operations, over every transport; engine_order_test has their order.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tests/conformance/fabric.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 4 << 20;
using Kind = Op::Kind;

class EngineConformance : public testing::TestWithParam<Fabric> {
 protected:
  void Run(Rank size, const std::function<void(EngineRank&)>& program) {
    RunOnEngines(GetParam(), size, kSlabBytes, program);
  }
  static int Times(int bare) { return GetParam().bare ? bare : std::max(1, bare / 20); }
};

uint64_t Load(const EngineRank& self, uint64_t offset) {
  return std::atomic_ref(*reinterpret_cast<uint64_t*>(self.slab() + offset)).load();
}

TEST_P(EngineConformance, PutsAndGetsOfAllSizesAndAlignments) {
  Run(2, [](EngineRank& self) {
    const Rank peer = 1 - self.rank();
    std::vector<std::byte> source(1 << 20), back(1 << 20);
    for (uint64_t length : {0, 1, 2, 3, 7, 8, 9, 255, 256, 257, 16383, 16384, 16385, 1 << 20}) {
      for (uint64_t skew : {0, 1}) {
        FillPattern(source.data(), length, length + skew + self.rank());
        std::memset(back.data(), 0x55, length);
        ASSERT_TRUE(self.Put(peer, 4096 + skew, source.data(), length).ok());
        ASSERT_TRUE(self.Get(peer, 4096 + skew, back.data(), length).ok());
        ASSERT_EQ(std::memcmp(source.data(), back.data(), length), 0) << length << " " << skew;
      }
    }
    self.Meet();
    EXPECT_TRUE(AllBytesAre(std::byte{0}, self.slab(), 4096));
    const size_t end = 4096 + 1 + (1 << 20);
    EXPECT_TRUE(AllBytesAre(std::byte{0}, self.slab() + end, kSlabBytes - end));
  });
}

TEST_P(EngineConformance, TicketsAreUniqueAndDense) {
  Run(3, [](EngineRank& self) {
    const uint64_t draws = static_cast<uint64_t>(Times(4'000));
    for (uint64_t i = 0; i < draws; ++i) {
      uint64_t ticket = UINT64_MAX;
      ASSERT_TRUE(self.engine()
                      .Run({.kind = Kind::kFetchAdd,
                            .peer = 2,
                            .offset = 8,
                            .destination = &ticket,
                            .length = 8,
                            .operand = 1},
                           EngineRank::Soon())
                      .ok());
      ASSERT_LT(ticket, 3 * draws);
      uint8_t taken = 1;
      // Each ticket's byte may be taken once: swap is of 4 bytes at least, so by get and put.
      uint8_t before = 0;
      ASSERT_TRUE(self.Get(2, 4096 + ticket, &before, 1).ok());
      ASSERT_EQ(before, 0) << ticket;
      ASSERT_TRUE(self.Put(2, 4096 + ticket, &taken, 1).ok());
    }
    self.Meet();
    if (self.rank() == 2) {
      EXPECT_EQ(Load(self, 8), 3 * draws);
      EXPECT_TRUE(AllBytesAre(std::byte{1}, self.slab() + 4096, 3 * draws));
    }
  });
}

// The same lock written with three atomics: all finish, with the same count.
TEST_P(EngineConformance, LocksOfThreeKindsExclude) {
  Run(3, [](EngineRank& self) {
    const int times = Times(400);
    const auto atomic = [&](Kind kind, uint64_t operand) {
      uint64_t old = 0;
      const absl::Status status = self.engine().Run({.kind = kind,
                                                     .peer = 0,
                                                     .offset = 64,
                                                     .destination = &old,
                                                     .length = 8,
                                                     .operand = operand,
                                                     .compare = 0},
                                                    EngineRank::Soon());
      EXPECT_TRUE(status.ok()) << status;
      return old;
    };
    for (Kind kind : {Kind::kSwap, Kind::kCompareSwap, Kind::kOr}) {
      for (int i = 0; i < times; ++i) {
        self.WaitFor([&] { return atomic(kind, 1) == 0; });
        uint64_t count = 0;
        ASSERT_TRUE(self.Get(0, 128, &count, 8).ok());
        ++count;
        ASSERT_TRUE(self.Put(0, 128, &count, 8).ok());
        atomic(Kind::kSet, 0);
      }
    }
    self.Meet();
    if (self.rank() == 0) {
      EXPECT_EQ(Load(self, 128), static_cast<uint64_t>(3 * 3 * times));
    }
  });
}

TEST_P(EngineConformance, ManyThreadsShareAnEngine) {
  constexpr uint64_t kThreads = 4;
  Run(2, [](EngineRank& self) {
    const uint64_t times = static_cast<uint64_t>(Times(400));
    std::atomic<uint64_t> wrong = 0;
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Engine& engine = self.engine();
        std::mt19937_64 random(t);
        const uint64_t base = (uint64_t{1} << 18) * (1 + t + kThreads * self.rank());
        std::vector<std::byte> source(100'000), back(100'000);
        for (uint64_t i = 0; i < times; ++i) {
          const uint64_t length = random() % 4 == 0 ? random() % source.size() : random() % 300;
          FillPattern(source.data(), length, i * kThreads + t);
          const Rank peer = static_cast<Rank>(random() % 2);
          if (random() % 2 == 0) {
            engine.Post({.peer = peer, .offset = base, .source = source.data(), .length = length},
                        EngineRank::Soon());
            wrong += !engine.Flush(peer, EngineRank::Soon()).ok();
          } else {
            wrong += !self.Put(peer, base, source.data(), length).ok();
          }
          wrong += !self.Get(peer, base, back.data(), length).ok();
          wrong += std::memcmp(source.data(), back.data(), length) != 0;
          engine.Post({.kind = Kind::kFetchAdd, .peer = 0, .offset = 8, .length = 8, .operand = 1},
                      EngineRank::Soon());
        }
        wrong += !engine.FlushAll(EngineRank::Soon()).ok();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0u);
    self.Meet();
    if (self.rank() == 0) {
      EXPECT_EQ(Load(self, 8), 2 * kThreads * times);
    }
  });
}

// Waiting for one peer lets another's operations go on: rank 0 waits for what
// rank 1 does only after rank 0's posted put has reached it.
TEST_P(EngineConformance, AWaitProgressesEverything) {
  Run(3, [](EngineRank& self) {
    const uint64_t one = 1;
    if (self.rank() == 0) {
      const std::vector<uint64_t> big(50'000, 7);
      self.engine().Post(
          {.peer = 1, .offset = 4096, .source = big.data(), .length = big.size() * 8},
          EngineRank::Soon());
      self.engine().Fence(1);
      self.engine().Post({.peer = 1, .offset = 8, .source = &one, .length = 8}, EngineRank::Soon());
      uint64_t flag = 0;
      self.WaitFor([&] {
        EXPECT_TRUE(self.Get(2, 8, &flag, 8).ok());  // Progresses; another peer.
        return flag == 1;
      });
      ASSERT_TRUE(self.engine().FlushAll(EngineRank::Soon()).ok());
    } else if (self.rank() == 1) {
      self.WaitFor([&] { return Load(self, 8) == 1; });
      ASSERT_TRUE(self.Put(2, 8, &one, 8).ok());
    }
    self.Meet();
  });
}

INSTANTIATE_TEST_SUITE_P(All, EngineConformance, testing::ValuesIn(Fabrics()),
                         [](const auto& info) { return info.param.name; });

// A few sizes that are too large to repeat.
class LargeTransfer : public testing::TestWithParam<Fabric> {};

TEST_P(LargeTransfer, SixtyFourMebibytesAndOdd) {
  constexpr uint64_t kBytes = (64 << 20) + 3;
  RunOnEngines(GetParam(), 2, 80 << 20, [](EngineRank& self) {
    if (self.rank() == 0) {
      std::vector<std::byte> source(kBytes), back(kBytes);
      FillPattern(source.data(), kBytes, 1);
      ASSERT_TRUE(self.Put(1, 5, source.data(), kBytes).ok());
      ASSERT_TRUE(self.Get(1, 5, back.data(), kBytes).ok());
      EXPECT_EQ(std::memcmp(source.data(), back.data(), kBytes), 0);
    }
    self.Meet();
    if (self.rank() == 1) {
      EXPECT_EQ(self.slab()[4], std::byte{0});
      EXPECT_EQ(self.slab()[5 + kBytes], std::byte{0});
    }
  });
}

std::vector<Fabric> LargeFabrics() {
  std::vector<Fabric> fabrics = BareFabrics();
  Fabric pieces = fabrics[0].With({.split = 1, .max_length = 10'000'001});
  pieces.name += "InPieces";
  fabrics.push_back(pieces);
  return fabrics;
}

INSTANTIATE_TEST_SUITE_P(All, LargeTransfer, testing::ValuesIn(LargeFabrics()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
