// The order of the Engine's operations: fences, flushes, notifications and
// signals, over every transport.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include "tests/conformance/fabric.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 4 << 20;

class EngineOrder : public testing::TestWithParam<Fabric> {
 protected:
  void Run(Rank size, const std::function<void(EngineRank&)>& program) {
    RunOnEngines(GetParam(), size, kSlabBytes, program);
  }
  static int Times(int bare) { return GetParam().bare ? bare : std::max(1, bare / 10); }
};

uint64_t Load(const EngineRank& self, uint64_t offset) {
  return std::atomic_ref(*reinterpret_cast<uint64_t*>(self.slab() + offset)).load();
}

// Whether each of the 8-byte words in there is `value`.
bool AllWordsAre(uint64_t value, const EngineRank& self, uint64_t offset, uint64_t bytes) {
  const auto* const words = reinterpret_cast<const uint64_t*>(self.slab() + offset);
  return std::ranges::count(words, words + bytes / 8, value) == static_cast<ptrdiff_t>(bytes / 8);
}

// Puts of both lanes, a fence, a flag: whoever sees the flag sees all of them.
TEST_P(EngineOrder, AFenceOrdersBothLanesRacing) {
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
          ASSERT_TRUE(AllWordsAre(round, self, (i + 1) << 16, lengths[i])) << i;
        }
        self.word(0) = round;
      }
    }
  });
}

// A notification waits for the bulk transfers before it, on whichever lane it is.
TEST_P(EngineOrder, ANotificationFollowsEarlierBulkTransfers) {
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
          ASSERT_TRUE(AllWordsAre(round, self, i << 16, kLong)) << i;
        }
        self.word(0) = round;
      }
    }
  });
}

// Whoever sees the notification sees the data that it came with, whole.
TEST_P(EngineOrder, PutWithNotificationDeliversWholeData) {
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

TEST_P(EngineOrder, NotificationsReceivedAreNotificationsSent) {
  Run(3, [](EngineRank& self) {
    std::mt19937_64 random(self.rank());
    std::vector<std::byte> source(100'000);
    uint64_t sent[3] = {};
    for (int i = 0; i < Times(20'000); ++i) {
      const Rank peer = static_cast<Rank>(random() % 3);
      const uint64_t length = i % 3 == 0 ? 0 : i % 50 == 1 ? source.size() : random() % 300;
      Engine::Request request = {.ride = Ride::kCounter,
                                 .peer = peer,
                                 .offset = uint64_t{self.rank()} << 20,
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
    // Who receives may have to be told of what has arrived.
    self.WaitFor([&] { return self.counter(0) >= self.word(self.rank()); });
    EXPECT_EQ(self.counter(0), self.word(self.rank()));
    self.Meet();
  });
}

TEST_P(EngineOrder, SignalsAreSetAndAddedTo) {
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

TEST_P(EngineOrder, AFlushedPutIsThere) {
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
      ASSERT_TRUE(AllWordsAre(round, self, 1 << 20, longs.size() * 8));
      self.Meet();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, EngineOrder, testing::ValuesIn(Fabrics()),
                         [](const auto& info) { return info.param.name; });

// On bare fabrics: what the fault decorator delays moves only when it is polled.
class EngineOrderBare : public testing::TestWithParam<Fabric> {};

// The first that this rank has for that peer: it may have to be connected to before.
TEST_P(EngineOrderBare, APostedNotificationArrivesWhileItsSenderComputes) {
  RunOnEngines(GetParam(), 2, 4096, [](EngineRank& self) {
    if (self.rank() == 0) {
      const uint64_t value = 5;
      self.engine().Post({.ride = Ride::kCounter,
                          .peer = 1,
                          .offset = 8,
                          .source = &value,
                          .length = 8,
                          .operand = 3},
                         EngineRank::Soon());
      self.WaitFor([&] { return self.word(0) != 0; });
    } else {
      self.WaitFor([&] {
        self.engine().Progress();
        return self.counter(3) == 1;
      });
      self.word(0) = 1;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, EngineOrderBare, testing::ValuesIn(BareFabrics()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
