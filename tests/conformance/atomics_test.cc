// Atomics and signals under load, and cut off, over every transport: none is lost, none is
// carried out twice, and each ends once.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <vector>

#include "tests/conformance/fabric.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 1 << 20;
constexpr uint64_t kCounterAt = 64;
constexpr uint64_t kSignalAt = 128;

class Atomics : public testing::TestWithParam<Fabric> {
 protected:
  void Run(Rank size, const std::function<void(TransportRank&)>& program) {
    RunOnTransports(GetParam(), size, kSlabBytes, program);
  }
  static uint64_t Times(uint64_t bare) {
    return GetParam().bare ? bare : std::max<uint64_t>(1, bare / 20);
  }
};

uint64_t Word(TransportRank& self, uint64_t offset) {
  return std::atomic_ref(*reinterpret_cast<uint64_t*>(self.slab() + offset)).load();
}

void Add(TransportRank& self, Rank peer, uint64_t token, uint64_t* old) {
  self.Post(peer, {.kind = Op::Kind::kFetchAdd,
                   .token = token,
                   .region = &self.slab_of(peer),
                   .offset = kCounterAt,
                   .local = old,
                   .length = 8,
                   .operand = 1});
}

// All ranks post to all, themselves too, as fast as they are taken: whoever owes an answer
// must give it while it waits for its own.
TEST_P(Atomics, AllFloodAll) {
  constexpr Rank kRanks = 4;
  Run(kRanks, [](TransportRank& self) {
    const uint64_t each = Times(4'000);
    std::vector<uint64_t> old(each * kRanks);
    for (uint64_t i = 0; i < old.size(); ++i) {
      Add(self, static_cast<Rank>(i % kRanks), i + 1, &old[i]);
    }
    for (uint64_t i = 0; i < old.size(); ++i) ASSERT_EQ(self.Wait(i + 1), Event::Result::kOk);
    // To one rank they were carried out in some order, each once.
    std::set<uint64_t> mine[kRanks];
    for (uint64_t i = 0; i < old.size(); ++i) mine[i % kRanks].insert(old[i]);
    for (const std::set<uint64_t>& tickets : mine) {
      EXPECT_EQ(tickets.size(), each);
      EXPECT_LT(*tickets.rbegin(), each * kRanks);
    }
    self.Meet();
    EXPECT_EQ(Word(self, kCounterAt), each * kRanks);
  });
}

// With its data, a put's signal is there when the put is complete.
TEST_P(Atomics, ASignalIsThereWhenItsPutIsComplete) {
  Run(2, [](TransportRank& self) {
    const uint64_t rounds = Times(2'000);
    for (uint64_t round = 1; round <= rounds; ++round) {
      if (self.rank() == 0) {
        uint64_t value = round;
        const bool set = round % 2 == 0;
        ASSERT_EQ(self.Run(1, {.ride = set ? Ride::kSetSignal : Ride::kAddSignal,
                               .region = &self.slab_of(1),
                               .offset = 8,
                               .local = &value,
                               .length = 8,
                               .operand = set ? round : 1,
                               .compare = kSignalAt}),
                  Event::Result::kOk);
      }
      self.Meet();
      if (self.rank() == 1) {
        ASSERT_EQ(Word(self, 8), round);
        ASSERT_EQ(Word(self, kSignalAt), round);
      }
      self.Meet();
    }
  });
}

// What is fenced starts after the atomics before it have been carried out.
TEST_P(Atomics, AFencedPutFollowsTheAtomicsBeforeIt) {
  Run(2, [](TransportRank& self) {
    const uint64_t rounds = Times(2'000);
    for (uint64_t round = 1; round <= rounds; ++round) {
      if (self.rank() == 0) {
        uint64_t old[8], value = round;
        for (uint64_t i = 0; i < 8; ++i) Add(self, 1, i + 1, &old[i]);
        self.Post(1, {.fenced = true,
                      .token = 9,
                      .region = &self.slab_of(1),
                      .offset = 8,
                      .local = &value,
                      .length = 8});
        for (uint64_t token = 1; token <= 9; ++token) {
          ASSERT_EQ(self.Wait(token), Event::Result::kOk);
        }
        self.WaitFor([&] { return self.word(0) == round; });
      } else {
        self.WaitFor([&] { return Word(self, 8) == round; });
        ASSERT_EQ(Word(self, kCounterAt), 8 * round);
        self.word(0) = round;
      }
    }
  });
}

// The owner dies under a flood: each operation ends once, well or in doubt.
TEST_P(Atomics, EachEndsWhenItsOwnerDies) {
  constexpr Rank kOwner = 2;
  Run(3, [](TransportRank& self) {
    if (self.rank() == kOwner) {
      self.Meet();
      usleep(3000);
      self.Die();
    }
    self.Meet();
    uint64_t token = 0, ended = 0;
    std::vector<uint64_t> old(1 << 16);
    const auto take = [&] {
      self.Poll();
      for (const Event& event : self.events()) {
        EXPECT_LE(event.token, token);
        EXPECT_TRUE(event.result == Event::Result::kOk || event.result == Event::Result::kPeerDown);
        ++ended;
      }
      self.events().clear();
    };
    const auto dead = [&] {
      return self.node().membership->state[kOwner].load() == MemberState::kDead;
    };
    while (!dead()) {
      const Op add = {.kind = Op::Kind::kFetchAdd,
                      .token = token + 1,
                      .region = &self.slab_of(kOwner),
                      .offset = kCounterAt,
                      .local = &old[token % old.size()],
                      .length = 8,
                      .operand = 1};
      if (self.TryPost(kOwner, add)) ++token;
      take();
    }
    self.transport().Abandon(kOwner, Lane::kSmall);
    std::fill(old.begin(), old.end(), UINT64_MAX);
    self.WaitFor([&] {
      take();
      return ended == token;
    });
    usleep(2000);
    for (int i = 0; i < 100; ++i) take();
    EXPECT_EQ(ended, token) << "an operation has ended twice";
    EXPECT_TRUE(AllBytesAre(std::byte{0xff}, old.data(), old.size() * 8)) << "touched after that";
    // The others go on.
    uint64_t value;
    Add(self, 1 - self.rank(), token + 1, &value);
    EXPECT_EQ(self.Wait(token + 1), Event::Result::kOk);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Atomics, testing::ValuesIn(Fabrics()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
