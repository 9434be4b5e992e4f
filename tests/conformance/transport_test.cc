// What transport.h promises of operations, over every transport;
// transport_order_test has their order.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "runtime/transport/address.h"
#include "tests/conformance/fabric.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 4 << 20;

class TransportConformance : public testing::TestWithParam<Fabric> {
 protected:
  void Run(Rank size, const std::function<void(TransportRank&)>& program) {
    RunOnTransports(GetParam(), size, kSlabBytes, program);
  }
  // How often to repeat what is slow where operations are delayed.
  static int Times(int bare) { return GetParam().bare ? bare : std::max(1, bare / 20); }
};

Lane LaneOf(uint64_t length) { return length > kMaxStagedBytes ? Lane::kBulk : Lane::kSmall; }

TEST_P(TransportConformance, PutsAndGetsOfAllSizesAndAlignments) {
  Run(2, [](TransportRank& self) {
    const Rank peer = 1 - self.rank();
    std::vector<std::byte> source(1 << 20), back(1 << 20);
    for (uint64_t length : {0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 4095, 16384, 16385, 1 << 20}) {
      for (uint64_t skew : {0, 1, 4}) {
        FillPattern(source.data(), length, length + skew + self.rank());
        std::memset(back.data(), 0x55, length);
        Op op = {.lane = LaneOf(length),
                 .region = &self.slab_of(peer),
                 .offset = 4096 + skew,
                 .local = source.data(),
                 .length = length};
        ASSERT_EQ(self.Run(peer, op), Event::Result::kOk);
        op.kind = Op::Kind::kGet;
        op.local = back.data();
        ASSERT_EQ(self.Run(peer, op), Event::Result::kOk);
        ASSERT_EQ(std::memcmp(source.data(), back.data(), length), 0) << length << " " << skew;
      }
    }
    self.Meet();
    EXPECT_TRUE(AllBytesAre(std::byte{0}, self.slab(), 4096));
    const size_t end = 4096 + 4 + (1 << 20);
    EXPECT_TRUE(AllBytesAre(std::byte{0}, self.slab() + end, kSlabBytes - end));
  });
}

TEST_P(TransportConformance, WhatHasNoTokenEndsWithTheNextThatHasOne) {
  const int rounds = Times(40);
  Run(2, [rounds](TransportRank& self) {
    constexpr uint64_t kCount = 23;
    const Rank peer = 1 - self.rank();
    uint64_t values[kCount];
    for (int round = 1; round <= rounds; ++round) {
      for (uint64_t i = 0; i < kCount; ++i) values[i] = static_cast<uint64_t>(round) * 1000 + i;
      for (uint64_t i = 0; i < kCount; ++i) {
        const Op op = {.token = i == kCount - 1 ? uint64_t{77} : 0,
                       .region = &self.slab_of(peer),
                       .offset = i * 8,
                       .local = &values[i],
                       .length = 8};
        while (!self.TryPost(peer, op)) self.Poll();
      }
      ASSERT_EQ(self.Wait(77), Event::Result::kOk);
      // They are the caller's again.
      std::memset(values, 0, sizeof(values));
      self.Meet();
      for (uint64_t i = 0; i < kCount; ++i) {
        uint64_t got;
        std::memcpy(&got, self.slab() + i * 8, sizeof(got));
        ASSERT_EQ(got, static_cast<uint64_t>(round) * 1000 + i);
      }
      self.Meet();
    }
    EXPECT_TRUE(self.events().empty());
  });
}

template <typename T>
void CheckAtomics(TransportRank& self, Rank peer, uint64_t offset) {
  using Kind = Op::Kind;
  T model = 0;
  std::mt19937_64 random(self.rank());
  for (int i = 0; i < 100; ++i) {
    const Kind kinds[] = {Kind::kFetchAdd, Kind::kCompareSwap, Kind::kSwap, Kind::kFetch,
                          Kind::kSet,      Kind::kAnd,         Kind::kOr,   Kind::kXor};
    const Kind kind = kinds[i % 8];
    if (!CarriesOut(self.transport().caps().atomics, kind, sizeof(T))) continue;
    const T operand = static_cast<T>(random());
    const T compare = random() % 2 == 0 ? model : static_cast<T>(random());
    T old = 77;
    const bool wants_old = kind != Kind::kSet && random() % 4 != 0;
    const Op op = {.kind = kind,
                   .region = &self.slab_of(peer),
                   .offset = offset,
                   .local = wants_old ? &old : nullptr,
                   .length = sizeof(T),
                   .operand = operand,
                   .compare = compare};
    ASSERT_EQ(self.Run(peer, op), Event::Result::kOk);
    ASSERT_EQ(old, wants_old ? model : T{77}) << i;
    switch (kind) {
      case Kind::kFetchAdd:
        model = static_cast<T>(model + operand);
        break;
      case Kind::kCompareSwap:
        if (model == compare) model = operand;
        break;
      case Kind::kSwap:
      case Kind::kSet:
        model = operand;
        break;
      case Kind::kAnd:
        model &= operand;
        break;
      case Kind::kOr:
        model |= operand;
        break;
      case Kind::kXor:
        model ^= operand;
        break;
      default:
        break;
    }
  }
}

TEST_P(TransportConformance, EveryAtomic) {
  Run(2, [](TransportRank& self) {
    CheckAtomics<uint32_t>(self, 1 - self.rank(), 64);
    CheckAtomics<uint64_t>(self, 1 - self.rank(), 128);
    CheckAtomics<uint64_t>(self, self.rank(), 256);  // On itself.
  });
}

TEST_P(TransportConformance, ExactlyOneEventATokenRacing) {
  Run(3, [](TransportRank& self) {
    std::mt19937_64 random(self.rank());
    std::vector<std::byte> local(1 << 16);
    const uint64_t count = static_cast<uint64_t>(Times(20'000));
    std::map<uint64_t, Rank> expected;
    std::map<uint64_t, int> told;
    const auto take = [&] {
      self.Poll();
      for (const Event& event : self.events()) {
        ++told[event.token];
        EXPECT_EQ(event.peer, expected[event.token]);
      }
      self.events().clear();
    };
    for (uint64_t token = 1; token <= count; ++token) {
      const uint64_t size = random() % 8 == 0 ? random() % local.size() : random() % 64;
      const uint64_t offset =
          random() % 16 == 0 ? random() : random() % (kSlabBytes - local.size());
      Op op = {.kind = static_cast<Op::Kind>(random() % 10),
               .fenced = random() % 8 == 0,
               .token = random() % 8 == 0 ? 0 : token,
               .offset = offset,
               .local = local.data(),
               .length = size};
      if (op.kind == Op::Kind::kPut) op.ride = static_cast<Ride>(random() % 4);
      op.operand = random() % 500;
      op.compare = offset;
      op.lane = LaneOf(size);
      const Rank peer = static_cast<Rank>(random() % self.size());
      op.region = &self.slab_of(peer);
      if (op.token != 0) expected[op.token] = peer;
      self.WaitFor([&] {
        if (self.TryPost(peer, op)) return true;
        take();
        return false;
      });
    }
    self.WaitFor([&] {
      take();
      return told.size() >= expected.size();
    });
    for (int i = 0; i < 1000; ++i) take();
    ASSERT_EQ(told.size(), expected.size());
    for (const auto& [token, times] : told) ASSERT_EQ(times, 1) << token;
    self.Meet();
  });
}

TEST_P(TransportConformance, AFullPeerDoesNotFillAnother) {
  Run(3, [](TransportRank& self) {
    if (self.rank() != 0) return;
    const uint64_t value = 1;
    Op op = {.token = 1, .region = &self.slab_of(1), .local = const_cast<uint64_t*>(&value)};
    op.length = 8;
    uint64_t posted = 0;
    while (posted < 1'000'000 && self.TryPost(1, op)) ++posted;
    ASSERT_LT(posted, 1'000'000u);  // It is bounded.
    self.Poll();
    op.token = 2;
    op.region = &self.slab_of(2);
    ASSERT_EQ(self.Run(2, op), Event::Result::kOk);
    self.WaitFor([&] {
      self.Poll();
      return self.events().size() == posted;
    });
  });
}

TEST_P(TransportConformance, BadAddressesMoveNothing) {
  Run(2, [](TransportRank& self) {
    if (self.rank() == 0) {
      std::vector<std::byte> ones(1 << 20, std::byte{0xff});
      using Kind = Op::Kind;
      struct Case {
        Kind kind;
        uint64_t offset, length;
        Ride ride = Ride::kNone;
        uint64_t operand = 0, compare = 0;
      };
      const Case cases[] = {
          {Kind::kPut, UINT64_MAX - 15, 32},
          {Kind::kPut, uint64_t{1} << 63, uint64_t{1} << 63},
          {Kind::kPut, kSlabBytes - 8, 16},
          {Kind::kPut, kSlabBytes - 50'000, 50'001},
          {Kind::kPut, 0, UINT64_MAX},
          {Kind::kPut, kSlabBytes + 1, 0},
          {Kind::kGet, kSlabBytes - 8, 16},
          {Kind::kGet, UINT64_MAX, 1},
          {Kind::kFetchAdd, kSlabBytes, 8},
          {Kind::kFetchAdd, 4, 8},
          {Kind::kSet, 1, 4},
          {Kind::kSwap, 0, 3},
          {Kind::kPut, 0, 8, Ride::kCounter, kMaxCounters},
          {Kind::kPut, 0, 20'000, Ride::kCounter, UINT64_MAX},
          {Kind::kPut, 0, 8, Ride::kSetSignal, 1, kSlabBytes - 4},
          {Kind::kPut, 0, 8, Ride::kAddSignal, 1, 12},
          {Kind::kPut, 0, 300, Ride::kAddSignal, 1, UINT64_MAX - 7},
      };
      for (const Case& c : cases) {
        const Op op = {.kind = c.kind,
                       .ride = c.ride,
                       .lane = LaneOf(c.length),
                       .region = &self.slab_of(1),
                       .offset = c.offset,
                       .local = ones.data(),
                       .length = c.length,
                       .operand = c.operand,
                       .compare = c.compare};
        ASSERT_EQ(self.Run(1, op), Event::Result::kBadAddress) << &c - cases;
      }
      EXPECT_TRUE(AllBytesAre(std::byte{0xff}, ones.data(), ones.size()));
    }
    self.Meet();
    EXPECT_TRUE(AllBytesAre(std::byte{0}, self.slab(), kSlabBytes));
  });
}

template <typename T>
void CheckNotTorn(TransportRank& self, int times) {
  // Rank 0 puts all zeros and all ones in turn; rank 1 gets and must see one of them.
  self.Meet();
  if (self.rank() == 0) {
    for (int i = 0; i < times; ++i) {
      T value = i % 2 == 0 ? static_cast<T>(~T{0}) : T{0};
      const Op op = {
          .region = &self.slab_of(2), .offset = 64, .local = &value, .length = sizeof(T)};
      ASSERT_EQ(self.Run(2, op), Event::Result::kOk);
    }
    self.word(1) = 1;
  } else if (self.rank() == 1) {
    while (self.word(1) == 0) {
      T value = 1;
      const Op op = {.kind = Op::Kind::kGet,
                     .region = &self.slab_of(2),
                     .offset = 64,
                     .local = &value,
                     .length = sizeof(T)};
      ASSERT_EQ(self.Run(2, op), Event::Result::kOk);
      ASSERT_TRUE(value == 0 || value == static_cast<T>(~T{0})) << +value;
    }
  }
  self.Meet();
  if (self.rank() == 0) self.word(1) = 0;
  self.Meet();
}

TEST_P(TransportConformance, SingleValuesAreNotTorn) {
  Run(3, [](TransportRank& self) {
    if (!GetParam().tears_two_bytes) CheckNotTorn<uint16_t>(self, Times(10'000));
    CheckNotTorn<uint32_t>(self, Times(10'000));
    CheckNotTorn<uint64_t>(self, Times(10'000));
  });
}

TEST_P(TransportConformance, ConnectAgainIsHarmless) {
  Run(2, [](TransportRank& self) {
    const Rank peer = 1 - self.rank();
    const uint64_t value = 1;
    const Op op = {
        .region = &self.slab_of(peer), .local = const_cast<uint64_t*>(&value), .length = 8};
    self.Post(peer, op);
    self.ConnectAgain(peer);
    EXPECT_EQ(self.Run(peer, op), Event::Result::kOk);
    self.Meet();
  });
}

// What is abandoned ends, each with its event, and touches nothing afterwards.
TEST_P(TransportConformance, AnAbandonedLaneEndsItsOperations) {
  Run(2, [](TransportRank& self) {
    if (self.rank() == 0) {
      constexpr uint64_t kOps = 16;
      std::vector<std::byte> local(200'000);
      for (const Lane lane : {Lane::kBulk, Lane::kSmall}) {
        uint64_t posted = 0;
        for (uint64_t token = 1; token <= kOps; ++token) {
          const Op op = {.kind = Op::Kind::kGet,
                         .lane = lane,
                         .token = token,
                         .region = &self.slab_of(1),
                         .local = local.data(),
                         .length = lane == Lane::kBulk ? local.size() : 8};
          posted += self.TryPost(1, op) ? 1 : 0;
        }
        self.transport().Abandon(1, lane);
        std::memset(local.data(), 0xee, local.size());
        self.WaitFor([&] {
          self.Poll();
          return self.events().size() == posted;
        });
        for (const Event& event : self.events()) {
          EXPECT_TRUE(event.result == Event::Result::kOk ||
                      event.result == Event::Result::kPeerDown);
        }
        self.events().clear();
        usleep(2000);
        for (int i = 0; i < 100; ++i) self.Poll();
        EXPECT_TRUE(AllBytesAre(std::byte{0xee}, local.data(), local.size()));
        const Op again = {.kind = Op::Kind::kGet,
                          .lane = Lane::kBulk,
                          .region = &self.slab_of(1),
                          .local = local.data(),
                          .length = local.size()};
        EXPECT_EQ(self.Run(1, again),
                  lane == Lane::kBulk ? Event::Result::kOk : Event::Result::kPeerDown);
      }
    }
    self.Meet();
  });
}

INSTANTIATE_TEST_SUITE_P(All, TransportConformance, testing::ValuesIn(Fabrics()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
