// The Engine's operations and their order, over every transport.
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

// Puts of both lanes, a fence, a flag: whoever sees the flag sees all of them.
TEST_P(EngineConformance, AFenceOrdersBothLanes) {
  Run(2, [](EngineRank& self) {
    const uint64_t rounds = static_cast<uint64_t>(Times(600));
    constexpr uint64_t kLong = 40'000;
    std::mt19937_64 random(5);  // The same draws on both.
    for (uint64_t round = 1; round <= rounds; ++round) {
      std::vector<uint64_t> lengths;
      for (int i = 0; i < 6; ++i) lengths.push_back(random() % 3 == 0 ? kLong : 8);
      std::vector<uint64_t> source(kLong / 8, round);
      // The flag itself may ride on either lane.
      const uint64_t flag_length = random() % 2 == 0 ? 8 : kLong;
      const bool post = random() % 2 == 0;
      const auto put = [&](uint64_t offset, uint64_t length, std::vector<Engine::Handle>& handles) {
        const Engine::Request request = {
            .peer = 1, .offset = offset, .source = source.data(), .length = length};
        if (post) {
          self.engine().Post(request, EngineRank::Soon());
        } else {
          handles.push_back(*self.engine().Start(request, EngineRank::Soon()));
        }
      };
      if (self.rank() == 0) {
        std::vector<Engine::Handle> handles;
        for (uint64_t i = 0; i < lengths.size(); ++i) put((i + 1) << 16, lengths[i], handles);
        self.engine().Fence(1);
        put(uint64_t{9} << 16, flag_length, handles);
        for (Engine::Handle handle : handles) {
          ASSERT_TRUE(self.engine().Finish(handle, EngineRank::Soon()).ok());
        }
        ASSERT_TRUE(self.engine().Flush(1, EngineRank::Soon()).ok());
        self.WaitFor([&] { return self.word(0) == round; });
      } else {
        // Any word of the flag says so.
        self.WaitFor([&] {
          for (uint64_t at = 0; at < flag_length; at += 4096) {
            if (Load(self, (uint64_t{9} << 16) + at) == round) return true;
          }
          return false;
        });
        for (uint64_t i = 0; i < lengths.size(); ++i) {
          for (uint64_t at = 0; at < lengths[i]; at += 8) {
            ASSERT_EQ(Load(self, ((i + 1) << 16) + at), round) << i << " " << at;
          }
        }
        self.word(0) = round;
      }
    }
  });
}

// A notification waits for the bulk transfers before it, on whichever lane it is.
TEST_P(EngineConformance, ANotificationFollowsEarlierBulkTransfers) {
  Run(2, [](EngineRank& self) {
    const uint64_t rounds = static_cast<uint64_t>(Times(600));
    constexpr uint64_t kLong = 60'000;
    for (uint64_t round = 1; round <= rounds; ++round) {
      const std::vector<uint64_t> source(kLong / 8, round);
      if (self.rank() == 0) {
        for (uint64_t i = 1; i <= 3; ++i) {
          self.engine().Post(
              {.peer = 1, .offset = i << 16, .source = source.data(), .length = kLong},
              EngineRank::Soon());
        }
        self.engine().Post({.ride = Ride::kCounter,
                            .peer = 1,
                            .offset = 0,
                            .source = source.data(),
                            .length = round % 3 == 0   ? 0
                                      : round % 3 == 1 ? 8
                                                       : kLong,
                            .operand = 5},
                           EngineRank::Soon());
        ASSERT_TRUE(self.engine().Flush(1, EngineRank::Soon()).ok());
        self.WaitFor([&] { return self.word(0) == round; });
      } else {
        self.WaitFor([&] { return self.counter(5) == round; });
        for (uint64_t i = 1; i <= 3; ++i) {
          for (uint64_t at = 0; at < kLong; at += 8) {
            ASSERT_EQ(Load(self, (i << 16) + at), round) << i << " " << at;
          }
        }
        self.word(0) = round;
      }
    }
  });
}

// Whoever sees the notification sees the data that it came with, whole.
TEST_P(EngineConformance, PutWithNotificationDeliversWholeData) {
  constexpr uint64_t kSlots = 8, kStride = 300'000;
  Run(2, [](EngineRank& self) {
    const uint64_t count = static_cast<uint64_t>(Times(8'000));
    std::mt19937_64 random(11);  // The same draws on both.
    std::vector<std::vector<std::byte>> buffers(kSlots, std::vector<std::byte>(kStride));
    uint64_t done = 0;
    for (uint64_t i = 1; i <= count; ++i) {
      const uint64_t slot = i % kSlots;
      const uint64_t length =
          random() % 16 == 0 ? random() % (256 * 1024) : random() % (random() % 2 == 0 ? 9 : 4096);
      if (self.rank() == 0) {
        // The receiver has taken the slot's last data.
        self.WaitFor([&] {
          self.engine().Progress();
          return self.word(0) + kSlots > i;
        });
        if (slot == 0) {
          ASSERT_TRUE(self.engine().Flush(1, EngineRank::Soon()).ok());
        }
        FillPattern(buffers[slot].data(), length, i);
        self.engine().Post({.ride = Ride::kCounter,
                            .peer = 1,
                            .offset = slot * kStride,
                            .source = buffers[slot].data(),
                            .length = length,
                            .operand = slot},
                           EngineRank::Soon());
      } else {
        const uint64_t arrivals = i / kSlots + (slot == 0 ? 0 : 1);
        self.WaitFor([&] { return self.counter(static_cast<uint32_t>(slot)) >= arrivals; });
        FillPattern(buffers[0].data(), length, i);
        ASSERT_EQ(Checksum(self.slab() + slot * kStride, length),
                  Checksum(buffers[0].data(), length))
            << i;
        self.word(0) = ++done;
      }
    }
    ASSERT_TRUE(self.engine().FlushAll(EngineRank::Soon()).ok());
    self.Meet();
  });
}

TEST_P(EngineConformance, NotificationsReceivedAreNotificationsSent) {
  Run(3, [](EngineRank& self) {
    std::mt19937_64 random(self.rank());
    std::vector<std::byte> source(100'000);
    uint64_t sent[3] = {};
    for (int i = 0; i < Times(20'000); ++i) {
      const Rank peer = static_cast<Rank>(random() % 3);
      const uint64_t length = i % 3 == 0 ? 0 : i % 50 == 1 ? source.size() : random() % 300;
      Engine::Request request = {.ride = Ride::kCounter,
                                 .peer = peer,
                                 .source = source.data(),
                                 .length = length,
                                 .operand = 0};
      if (i % 7 == 0) request.offset = kSlabBytes - length + 1;  // Refused.
      if (i % 2 == 0) {
        self.engine().Post(request, EngineRank::Soon());
      } else {
        const absl::Status status = self.engine().Run(request, EngineRank::Soon());
        EXPECT_EQ(status.ok(), i % 7 != 0) << status;
      }
      sent[peer] += i % 7 != 0;
    }
    EXPECT_TRUE(absl::IsOutOfRange(self.engine().FlushAll(EngineRank::Soon())));
    for (Rank peer = 0; peer < 3; ++peer) self.word(peer) += sent[peer];
    self.Meet();
    EXPECT_EQ(self.counter(0), self.word(self.rank()));
    self.Meet();
  });
}

TEST_P(EngineConformance, SignalsAreSetAndAddedTo) {
  Run(3, [](EngineRank& self) {
    const uint64_t times = static_cast<uint64_t>(Times(500));
    for (uint64_t i = 1; i <= times; ++i) {
      self.engine().Post({.ride = Ride::kAddSignal,
                          .peer = 0,
                          .offset = 256 + 8 * self.rank(),
                          .source = &i,
                          .length = 8,
                          .operand = 2,
                          .compare = 64},
                         EngineRank::Soon());
    }
    ASSERT_TRUE(
        self.engine()
            .Run({.ride = Ride::kSetSignal, .peer = 1, .operand = 1000, .compare = 8 * self.rank()},
                 EngineRank::Soon())
            .ok());
    ASSERT_TRUE(self.engine().FlushAll(EngineRank::Soon()).ok());
    self.Meet();
    if (self.rank() == 0) {
      EXPECT_EQ(Load(self, 64), 2 * 3 * times);
    }
    if (self.rank() == 1) {
      for (uint64_t r = 0; r < 3; ++r) EXPECT_EQ(Load(self, 8 * r), 1000u);
    }
  });
}

TEST_P(EngineConformance, AFlushedPutIsThere) {
  Run(3, [](EngineRank& self) {
    const uint64_t rounds = static_cast<uint64_t>(Times(200));
    std::vector<uint64_t> longs(5'000);
    for (uint64_t round = 1; round <= rounds; ++round) {
      for (uint64_t i = 0; i < 100; ++i) {
        const uint64_t value = round * 1000 + i;
        for (Rank peer = 0; peer < 3; ++peer) {
          self.engine().Post({.peer = peer,
                              .offset = 65536 * (1 + self.rank()) + 8 * i,
                              .source = &value,  // Copied: it changes at once.
                              .length = 8},
                             EngineRank::Soon());
        }
      }
      std::ranges::fill(longs, round);
      self.engine().Post({.peer = (self.rank() + 1) % 3,
                          .offset = 1 << 20,
                          .source = longs.data(),
                          .length = longs.size() * 8},
                         EngineRank::Soon());
      if (round % 2 == 0) {
        ASSERT_TRUE(self.engine().FlushAll(EngineRank::Soon()).ok());
      } else {
        for (Rank peer = 0; peer < 3; ++peer) {
          ASSERT_TRUE(self.engine().Flush(peer, EngineRank::Soon()).ok());
        }
      }
      self.Meet();
      for (uint64_t from = 0; from < 3; ++from) {
        for (uint64_t i = 0; i < 100; ++i) {
          ASSERT_EQ(Load(self, 65536 * (1 + from) + 8 * i), round * 1000 + i);
        }
      }
      for (uint64_t i = 0; i < longs.size(); ++i) {
        ASSERT_EQ(Load(self, (1 << 20) + 8 * i), round);
      }
      self.Meet();
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
