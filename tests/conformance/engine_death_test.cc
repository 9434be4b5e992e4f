// Peers that die, or that the transport loses, at each point, over every
// transport: whoever uses them is told, names them, and goes on with the others.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/in_doubt.h"
#include "tests/conformance/fabric.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 4 << 20;
constexpr Rank kVictim = 2;
using Kind = Op::Kind;

class EngineDeath : public testing::TestWithParam<Fabric> {
 protected:
  void Run(Rank size, const std::function<void(EngineRank&)>& program) {
    RunOnEngines(GetParam(), size, kSlabBytes, program);
  }
};

bool SaysWhoDied(const absl::Status& status) {
  const std::string message(status.message());
  // A transport may notice before the guard has reaped it.
  return absl::IsUnavailable(status) && message.find("rank 2") != std::string::npos &&
         (message.find("signal 9") != std::string::npos ||
          message.find("cannot be reached any more") != std::string::npos);
}

void WaitForDeath(EngineRank& self) {
  self.WaitFor([&] { return self.node().membership->state[kVictim].load() == MemberState::kDead; });
}

void TheOthersStillWork(EngineRank& self) {
  const Rank other = 1 - self.rank();
  std::vector<std::byte> big(100'000, std::byte{1});
  EXPECT_TRUE(self.Put(other, 64, big.data(), big.size()).ok());
  EXPECT_TRUE(self.Put(other, 64, big.data(), 8).ok());
  EXPECT_TRUE(self.engine().Flush(other, EngineRank::Soon()).ok());
}

TEST_P(EngineDeath, BeforeTheFirstOperation) {
  Run(3, [](EngineRank& self) {
    if (self.rank() == kVictim) self.Die();
    WaitForDeath(self);
    const uint64_t value = 1;
    const absl::Status status = self.Put(kVictim, 0, &value, 8);
    EXPECT_TRUE(SaysWhoDied(status)) << status;
    EXPECT_FALSE(IsInDoubt(status));
    EXPECT_TRUE(SaysWhoDied(self.engine().Flush(kVictim, EngineRank::Soon())));
    TheOthersStillWork(self);
  });
}

// Each survivor keeps operations of all kinds under way when rank 2 dies.
TEST_P(EngineDeath, UnderOperationsOfAllKinds) {
  Run(3, [](EngineRank& self) {
    if (self.rank() == kVictim) {
      self.Meet();
      usleep(5000);
      self.Die();
    }
    self.Meet();
    std::mt19937_64 random(self.rank());
    std::vector<std::byte> source(200'000), destination(200'000);
    uint64_t old = 0;
    absl::Status status;
    for (int i = 0; status.ok(); ++i) {
      const uint64_t length = random() % 4 == 0 ? random() % source.size() : random() % 100;
      Engine::Request request = {.peer = kVictim, .offset = 64, .length = length};
      switch (random() % 4) {
        case 0:
          request.source = source.data();
          break;
        case 1:
          request.source = source.data();
          request.ride = Ride::kCounter;
          break;
        case 2:
          request.kind = Kind::kGet;
          request.destination = destination.data();
          break;
        default:
          request.kind = Kind::kFetchAdd;
          request.destination = &old;
          request.length = 8;
      }
      if (i % 8 == 7) self.engine().Fence(kVictim);
      if (i % 2 == 0) {
        status = self.engine().Run(request, EngineRank::Soon());
      } else {
        self.engine().Post(request, EngineRank::Soon());
        if (i % 31 == 0) status = self.engine().Flush(kVictim, EngineRank::Soon());
      }
    }
    EXPECT_TRUE(SaysWhoDied(status)) << status;
    // It is for good, and FlushAll finishes the live ones before it says so.
    const uint64_t value = self.rank() + 1;
    self.engine().Post({.peer = 1 - self.rank(), .offset = 8, .source = &value, .length = 8},
                       EngineRank::Soon());
    for (int i = 0; i < 2; ++i) {
      const absl::Status flushed = self.engine().FlushAll(EngineRank::Soon());
      EXPECT_TRUE(SaysWhoDied(flushed)) << flushed;
    }
    uint64_t landed = 0;
    EXPECT_TRUE(self.Get(1 - self.rank(), 8, &landed, 8).ok());
    EXPECT_EQ(landed, value);
    TheOthersStillWork(self);
  });
}

// A thread that sleeps in a wait when the peer dies is woken by the death.
TEST_P(EngineDeath, UnderThreadsThatWait) {
  Fabric slow =
      GetParam().With({.min_delay_ns = int64_t{1} << 50, .max_delay_ns = int64_t{1} << 51});
  RunOnEngines(slow, 3, kSlabBytes, [](EngineRank& self) {
    if (self.rank() == kVictim) {
      self.WaitFor([&] { return self.word(0) == 2; });
      usleep(20'000);  // They go to sleep.
      self.Die();
    }
    std::vector<std::byte> big(1 << 20);
    uint64_t old = 0;
    const Engine::Request requests[] = {
        {.peer = kVictim, .source = big.data(), .length = big.size()},
        {.kind = Kind::kGet, .peer = kVictim, .destination = big.data(), .length = 100},
        {.kind = Kind::kSwap, .peer = kVictim, .offset = 8, .destination = &old, .length = 8},
    };
    std::atomic<int> named = 0;
    std::vector<std::thread> threads;
    for (const Engine::Request& request : requests) {
      threads.emplace_back([&] {
        const absl::Status status = self.engine().Run(request, Deadline());
        named += SaysWhoDied(status) && IsInDoubt(status) == (request.kind != Kind::kGet);
      });
    }
    threads.emplace_back([&] {
      self.engine().Post({.peer = kVictim, .source = big.data(), .length = 8}, Deadline());
      named += SaysWhoDied(self.engine().Flush(kVictim, Deadline()));
    });
    // All are under way: in the ledger, and after a few polls in the transport.
    self.WaitFor([&] { return (self.engine().unsettled() & 0xffff) >= threads.size(); });
    for (int i = 0; i < 100; ++i) self.engine().Progress();
    ++self.word(0);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(named, 4);
  });
}

INSTANTIATE_TEST_SUITE_P(All, EngineDeath, testing::ValuesIn(Fabrics()),
                         [](const auto& info) { return info.param.name; });

// The same, but it is the transport that loses peers and breaks bulk lanes.
class EngineLoss : public testing::TestWithParam<Fabric> {};

TEST_P(EngineLoss, ALostPeerIsUnavailableForGood) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    FaultOptions options = FaultOptions::FromSeed(seed);
    options.kill = 0.01;
    RunOnEngines(GetParam().With(options), 2, kSlabBytes, [&](EngineRank& self) {
      std::mt19937_64 random(seed);
      std::vector<std::byte> source(50'000);
      absl::Status status;
      for (int i = 0; status.ok(); ++i) {
        ASSERT_LT(i, 1'000'000);
        const uint64_t length = random() % 8 == 0 ? source.size() : random() % 100;
        if (random() % 2 == 0) {
          status = self.Put(1 - self.rank(), 64, source.data(), length);
          // The bulk lane alone may have gone: because the peer has lost us.
          if (!status.ok()) status = self.Put(1 - self.rank(), 64, source.data(), 8);
        } else {
          self.engine().Post({.peer = 1 - self.rank(), .source = source.data(), .length = length},
                             EngineRank::Soon());
        }
      }
      EXPECT_TRUE(absl::IsUnavailable(status)) << status;
      EXPECT_TRUE(absl::IsUnavailable(self.engine().Flush(1 - self.rank(), EngineRank::Soon())));
      EXPECT_TRUE(absl::IsUnavailable(self.engine().FlushAll(EngineRank::Soon())));
      EXPECT_TRUE(absl::IsUnavailable(self.Put(1 - self.rank(), 64, source.data(), 8)));
      self.Meet();
    });
  }
}

TEST_P(EngineLoss, ABrokenBulkLaneLeavesItsOperationsInDoubtAndWorksAgain) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    FaultOptions options = FaultOptions::FromSeed(seed);
    options.break_bulk = 0.2;
    RunOnEngines(GetParam().With(options), 2, kSlabBytes, [&](EngineRank& self) {
      const Rank peer = 1 - self.rank();
      std::vector<std::byte> source(50'000, std::byte{1});
      int good = 0, doubtful = 0;
      for (int i = 0; i < 200; ++i) {
        const absl::Status status = self.Put(peer, 64, source.data(), source.size());
        good += status.ok();
        doubtful += absl::IsUnavailable(status) && IsInDoubt(status);
        ASSERT_TRUE(self.Put(peer, 64, source.data(), 100).ok());
        self.engine().Post({.peer = peer, .source = source.data(), .length = source.size()},
                           EngineRank::Soon());
        if (i % 5 == 0) {
          const absl::Status flushed = self.engine().FlushAll(EngineRank::Soon());
          ASSERT_TRUE(flushed.ok() || (absl::IsUnavailable(flushed) && IsInDoubt(flushed)));
        }
      }
      EXPECT_EQ(good + doubtful, 200);
      EXPECT_GT(good, 0);
      EXPECT_GT(doubtful, 0);
      self.Meet();
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, EngineLoss, testing::ValuesIn(BareFabrics()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
