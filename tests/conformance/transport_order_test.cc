// The order that transport.h promises: fences, and what rides on a put, over
// every transport.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include "tests/conformance/fabric.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 4 << 20;

class TransportOrder : public testing::TestWithParam<Fabric> {
 protected:
  void Run(Rank size, const std::function<void(TransportRank&)>& program) {
    RunOnTransports(GetParam(), size, kSlabBytes, program);
  }
  static int Times(int bare) { return GetParam().bare ? bare : std::max(1, bare / 20); }
};

Lane LaneOf(uint64_t length) { return length > kMaxStagedBytes ? Lane::kBulk : Lane::kSmall; }

// Each round's data are put in no order, then a fenced flag: whoever sees the
// flag sees the data.
TEST_P(TransportOrder, AFencedPutFollowsWhatIsBeforeIt) {
  constexpr uint64_t kWords = 32;
  Run(2, [](TransportRank& self) {
    const uint64_t rounds = static_cast<uint64_t>(Times(5'000));
    for (uint64_t round = 1; round <= rounds; ++round) {
      if (self.rank() == 0) {
        std::vector<uint64_t> values(kWords, round);
        for (uint64_t i = 0; i <= kWords; ++i) {
          const bool flag = i == kWords;
          const Op op = {.fenced = flag,
                         .token = i + 1,
                         .region = &self.slab_of(1),
                         .offset = flag ? 0 : 64 + 64 * i,
                         .local = flag ? values.data() : &values[i],
                         .length = 8};
          self.Post(1, op);
        }
        for (uint64_t i = 0; i <= kWords; ++i) ASSERT_EQ(self.Wait(i + 1), Event::Result::kOk);
        self.WaitFor([&] { return self.word(0) == round; });
      } else {
        const auto load = [&](uint64_t offset) {
          return std::atomic_ref(*reinterpret_cast<uint64_t*>(self.slab() + offset)).load();
        };
        self.WaitFor([&] { return load(0) == round; });
        for (uint64_t i = 0; i < kWords; ++i) ASSERT_EQ(load(64 + 64 * i), round) << i;
        self.word(0) = round;
      }
    }
  });
}

// The counterpart: what comes after a fenced operation does not pass what is
// before it either.
TEST_P(TransportOrder, NothingPassesAFence) {
  Run(2, [](TransportRank& self) {
    const uint64_t rounds = static_cast<uint64_t>(Times(2'000));
    for (uint64_t round = 1; round <= rounds; ++round) {
      if (self.rank() == 0) {
        const auto word = [&](uint64_t offset, uint64_t token, bool fenced) {
          return Op{.fenced = fenced,
                    .token = token,
                    .region = &self.slab_of(1),
                    .offset = offset,
                    .local = const_cast<uint64_t*>(&round),
                    .length = 8};
        };
        self.Post(1, word(64, 1, false));
        self.Post(1, word(128, 2, true));
        self.Post(1, word(192, 3, false));
        for (uint64_t token : {1, 2, 3}) ASSERT_EQ(self.Wait(token), Event::Result::kOk);
        self.WaitFor([&] { return self.word(0) == round; });
      } else {
        const auto load = [&](uint64_t offset) {
          return std::atomic_ref(*reinterpret_cast<uint64_t*>(self.slab() + offset)).load();
        };
        self.WaitFor([&] { return load(192) == round; });
        ASSERT_EQ(load(64), round);
        self.word(0) = round;
      }
    }
  });
}

// Whoever sees a notification sees the data that it came with, whole.
TEST_P(TransportOrder, ARideFollowsItsData) {
  constexpr uint64_t kLargest = 256 * 1024;
  Run(2, [](TransportRank& self) {
    const uint64_t rounds = static_cast<uint64_t>(Times(2'000));
    std::mt19937_64 random(7);  // The same draws on both.
    std::vector<std::byte> local(kLargest);
    for (uint64_t round = 1; round <= rounds; ++round) {
      const uint64_t length = random() % 4 == 0 ? random() % 9 : random() % kLargest;
      const uint64_t offset = 64 + random() % 64;
      const Ride ride = static_cast<Ride>(1 + random() % 3);
      FillPattern(local.data(), length, round);
      if (self.rank() == 0) {
        const Op op = {.ride = ride,
                       .lane = LaneOf(length),
                       .token = round,
                       .region = &self.slab_of(1),
                       .offset = offset,
                       .local = local.data(),
                       .length = length,
                       .operand = ride == Ride::kCounter ? 3 : round,
                       .compare = 8};
        self.Post(1, op);
        ASSERT_EQ(self.Wait(round), Event::Result::kOk);
        self.WaitFor([&] { return self.word(0) == round; });
      } else {
        std::atomic_ref<uint64_t> signal(*reinterpret_cast<uint64_t*>(self.slab() + 8));
        self.WaitFor(
            [&] { return ride == Ride::kCounter ? self.counter(3) == 1 : signal.load() == round; });
        ASSERT_EQ(Checksum(self.slab() + offset, length), Checksum(local.data(), length));
        self.counter(3) = 0;
        signal = 0;
        self.word(0) = round;
      }
    }
  });
}

TEST_P(TransportOrder, NotificationsReceivedAreNotificationsSent) {
  Run(3, [](TransportRank& self) {
    std::mt19937_64 random(self.rank());
    std::vector<std::byte> local(40'000);
    const uint64_t count = static_cast<uint64_t>(Times(20'000));
    uint64_t sent[3] = {};
    for (uint64_t token = 1; token <= count; ++token) {
      const uint64_t length = token % 3 == 0 ? 0 : token % 64 == 1 ? local.size() : token % 100;
      const Rank peer = static_cast<Rank>(random() % 3);
      Op op = {.ride = Ride::kCounter,
               .lane = LaneOf(length),
               .token = token,
               .region = &self.slab_of(peer),
               .offset = 65536 * (self.rank() + uint64_t{1}),
               .local = local.data(),
               .length = length,
               .operand = 447};
      if (token % 10 == 0) op.offset = kSlabBytes - length + 1;  // Refused: must not count.
      sent[peer] += token % 10 != 0;
      self.Post(peer, op);
    }
    for (uint64_t token = 1; token <= count; ++token) {
      ASSERT_EQ(self.Wait(token),
                token % 10 == 0 ? Event::Result::kBadAddress : Event::Result::kOk);
    }
    for (Rank peer = 0; peer < 3; ++peer) self.word(peer) += sent[peer];
    self.Meet();
    // Who receives may have to be told of what has arrived.
    self.WaitFor([&] { return self.counter(447) >= self.word(self.rank()); });
    EXPECT_EQ(self.counter(447), self.word(self.rank()));
    self.Meet();
  });
}

INSTANTIATE_TEST_SUITE_P(All, TransportOrder, testing::ValuesIn(Fabrics()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
