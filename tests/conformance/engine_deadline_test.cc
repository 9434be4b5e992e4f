// Deadlines: a late operation says so, and touches the caller's memory no more.
// Nothing moves while a gate under the Engine is shut, so that whatever is
// waited for is late however busy the machine is; then the gate opens.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/in_doubt.h"
#include "tests/conformance/fabric.h"
#include "tests/support/gate_transport.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 4 << 20;
using Kind = Op::Kind;

Deadline Short() { return Deadline::After(absl::Milliseconds(5)); }

Gate gates[Board::kMaxRanks];  // By rank.

Fabric Gated(Fabric fabric) {
  fabric.make = [make = fabric.make](const NodeView& node) -> std::unique_ptr<Transport> {
    gates[node.rank].shut = false;
    gates[node.rank].full_peer = Gate::kNobody;
    return std::make_unique<GateTransport>(make(node), gates[node.rank]);
  };
  return fabric;
}

class EngineDeadline : public testing::TestWithParam<Fabric> {
 protected:
  // Rank 0 is connected to all, so that its operations get as far as the gate.
  void Run(Rank size, const std::function<void(EngineRank&)>& program) {
    RunOnEngines(Gated(GetParam()), size, kSlabBytes, [&](EngineRank& self) {
      for (Rank peer = 0; self.rank() == 0 && peer < size; ++peer) {
        ASSERT_TRUE(self.Put(peer, 0, nullptr, 0).ok());
      }
      program(self);
      self.Meet();
    });
  }
};

TEST_P(EngineDeadline, ALateGetTouchesNothing) {
  Run(2, [](EngineRank& self) {
    std::memset(self.slab(), 0x11, kSlabBytes);
    self.Meet();
    if (self.rank() != 0) return;
    for (uint64_t length : {1, 8, 100, 16384, 16385, 1 << 20}) {
      std::vector<std::byte> buffer(length, std::byte{0xee});
      gates[0].shut = true;
      const absl::Status status = self.engine().Run({.kind = Kind::kGet,
                                                     .peer = 1,
                                                     .offset = 64,
                                                     .destination = buffer.data(),
                                                     .length = length},
                                                    Short());
      ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << status;
      EXPECT_FALSE(IsInDoubt(status));  // It has no effect that could be.
      gates[0].shut = false;
      ASSERT_TRUE(self.engine().FlushAll(EngineRank::Soon()).ok());
      EXPECT_EQ(self.engine().unsettled(), 0u);
      ASSERT_TRUE(AllBytesAre(std::byte{0xee}, buffer.data(), length)) << length;
    }
  });
}

// What the caller writes into its buffer after a late put never reaches the peer.
TEST_P(EngineDeadline, ALatePutDoesNotReadLaterContents) {
  Run(2, [](EngineRank& self) {
    for (uint64_t length : {8, 100, 16384, 16385, 1 << 20}) {
      if (self.rank() == 0) {
        std::vector<std::byte> buffer(length, std::byte{0x11});
        gates[0].shut = true;
        const absl::Status status = self.engine().Run(
            {.peer = 1, .offset = 64, .source = buffer.data(), .length = length}, Short());
        ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << status;
        EXPECT_TRUE(IsInDoubt(status));
        std::memset(buffer.data(), 0xee, length);
        gates[0].shut = false;
        ASSERT_TRUE(self.engine().FlushAll(EngineRank::Soon()).ok());
      }
      self.Meet();
      if (self.rank() == 1) {
        EXPECT_EQ(std::memchr(self.slab(), 0xee, kSlabBytes), nullptr);
      }
      self.Meet();
    }
  });
}

TEST_P(EngineDeadline, ALateAtomicDoesNotReturnItsValueLater) {
  Run(2, [](EngineRank& self) {
    if (self.rank() != 0) return;
    uint64_t old = 77;
    gates[0].shut = true;
    const absl::Status status = self.engine().Run({.kind = Kind::kFetchAdd,
                                                   .peer = 1,
                                                   .offset = 8,
                                                   .destination = &old,
                                                   .length = 8,
                                                   .operand = 5},
                                                  Short());
    ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_TRUE(IsInDoubt(status));
    gates[0].shut = false;
    ASSERT_TRUE(self.engine().FlushAll(EngineRank::Soon()).ok());
    EXPECT_EQ(old, 77u);
  });
}

TEST_P(EngineDeadline, MemoryThatIsUnregisteredIsTouchedNoMore) {
  Run(2, [](EngineRank& self) {
    if (self.rank() != 0) return;
    constexpr uint64_t kLength = 1 << 20;
    std::vector<std::byte> buffer(kLength, std::byte{0xee});
    Engine& engine = self.engine();
    ASSERT_TRUE(engine.Register(buffer).ok());
    gates[0].shut = true;
    const auto get = engine.Start({.kind = Kind::kGet,
                                   .peer = 1,
                                   .offset = 64,
                                   .destination = buffer.data(),
                                   .length = kLength},
                                  EngineRank::Soon());
    ASSERT_TRUE(get.ok()) << get.status();
    engine.Post({.peer = 1, .offset = 64, .source = buffer.data(), .length = kLength},
                EngineRank::Soon());
    engine.Unregister(buffer, Short());
    gates[0].shut = false;
    EXPECT_EQ(engine.Finish(*get, EngineRank::Soon()).code(), absl::StatusCode::kUnavailable);
    const absl::Status flushed = engine.FlushAll(EngineRank::Soon());
    EXPECT_EQ(flushed.code(), absl::StatusCode::kUnavailable) << flushed;
    EXPECT_TRUE(IsInDoubt(flushed)) << flushed;
    EXPECT_TRUE(AllBytesAre(std::byte{0xee}, buffer.data(), kLength));
    // The peer, and its lane, go on.
    ASSERT_TRUE(self.Put(1, 8, buffer.data(), kLength).ok());
  });
}

// Also a short get, which moves through runtime memory, and one that is over already.
TEST_P(EngineDeadline, ResultsDoNotGoToMemoryThatIsUnregistered) {
  Run(2, [](EngineRank& self) {
    std::memset(self.slab(), 0x11, kSlabBytes);
    self.Meet();
    if (self.rank() != 0) return;
    std::vector<std::byte> buffer(64, std::byte{0xee});
    Engine& engine = self.engine();
    const auto get = [&](size_t at) {
      return engine.Start({.kind = Kind::kGet,
                           .peer = 1,
                           .offset = 64,
                           .destination = buffer.data() + at,
                           .length = 16},
                          EngineRank::Soon());
    };
    ASSERT_TRUE(engine.Register(buffer).ok());
    const auto over = get(0);
    ASSERT_TRUE(over.ok()) << over.status();
    while (!engine.Done(*over)) std::this_thread::yield();
    gates[0].shut = true;
    const auto late = get(16);
    ASSERT_TRUE(late.ok()) << late.status();
    engine.Unregister(buffer, Short());
    EXPECT_TRUE(AllBytesAre(std::byte{0x11}, buffer.data(), 16)) << "it was there in time";
    std::memset(buffer.data(), 0xee, buffer.size());
    gates[0].shut = false;
    EXPECT_TRUE(engine.Finish(*over, EngineRank::Soon()).ok());
    EXPECT_TRUE(engine.Finish(*late, EngineRank::Soon()).ok());
    EXPECT_TRUE(AllBytesAre(std::byte{0xee}, buffer.data(), buffer.size()));
  });
}

// What never left this rank is not in doubt, and is not carried out later.
TEST_P(EngineDeadline, WhatWasNotStartedNeverIs) {
  Run(2, [](EngineRank& self) {
    if (self.rank() == 0) {
      gates[0].full_peer = 1;
      const uint64_t value = 5;
      for (uint64_t length : {8, 1 << 20}) {
        const std::vector<std::byte> source(length, std::byte{5});
        const absl::Status status = self.engine().Run(
            {.peer = 1, .offset = 64, .source = source.data(), .length = length}, Short());
        ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << status;
        EXPECT_FALSE(IsInDoubt(status));
      }
      gates[0].full_peer = Gate::kNobody;
      ASSERT_TRUE(self.Put(1, 8, &value, 8).ok());
      ASSERT_TRUE(self.engine().FlushAll(EngineRank::Soon()).ok());
    }
    self.Meet();
    if (self.rank() == 1) {
      EXPECT_TRUE(AllBytesAre(std::byte{0}, self.slab() + 64, 1 << 20));
    }
  });
}

// A late bulk transfer costs others on its lane, which are told; not small ones,
// not other peers, and the lane works afterwards.
TEST_P(EngineDeadline, ALateBulkTransferLeavesTheRestAlone) {
  Run(3, [](EngineRank& self) {
    if (self.rank() != 0) return;
    const std::vector<std::byte> late(1 << 20), other(1 << 20);
    const uint64_t value = 5;
    const auto start = [&](Rank peer, const void* source, uint64_t length) {
      return *self.engine().Start({.peer = peer, .offset = 64, .source = source, .length = length},
                                  EngineRank::Soon());
    };
    gates[0].shut = true;
    const Engine::Handle victim = start(1, other.data(), other.size());
    const Engine::Handle small = start(1, &value, 8);
    const Engine::Handle elsewhere = start(2, other.data(), other.size());
    const Engine::Handle slow = start(1, late.data(), late.size());
    EXPECT_TRUE(absl::IsDeadlineExceeded(self.engine().Finish(slow, Short())));
    gates[0].shut = false;
    const absl::Status doubt = self.engine().Finish(victim, EngineRank::Soon());
    // Where bulk transfers go through memory of the runtime, the late one just goes on there.
    EXPECT_TRUE(self.bounces() ? doubt.ok() : absl::IsUnavailable(doubt) && IsInDoubt(doubt))
        << doubt;
    EXPECT_TRUE(self.engine().Finish(small, EngineRank::Soon()).ok());
    EXPECT_TRUE(self.engine().Finish(elsewhere, EngineRank::Soon()).ok());
    EXPECT_TRUE(self.Put(1, 64, late.data(), late.size()).ok());
    EXPECT_TRUE(self.engine().FlushAll(EngineRank::Soon()).ok());
  });
}

TEST_P(EngineDeadline, ALateFlushGivesTheMemoryBack) {
  Run(2, [](EngineRank& self) {
    if (self.rank() == 0) {
      std::vector<std::byte> big(1 << 20, std::byte{0x11});
      std::vector<std::byte> medium(10'000, std::byte{0x11});
      uint64_t old = 77;
      const auto post = [&](const Engine::Request& request) {
        self.engine().Post(request, EngineRank::Soon());
      };
      gates[0].shut = true;
      post({.peer = 1, .source = big.data(), .length = big.size()});
      post({.peer = 1, .offset = 2 << 20, .source = medium.data(), .length = medium.size()});
      post({.kind = Kind::kFetchAdd,
            .peer = 1,
            .offset = 3 << 20,
            .destination = &old,
            .length = 8,
            .operand = 1});
      // Waits for the bulk transfer, so it is not even started.
      self.engine().Fence(1);
      post({.peer = 1, .offset = (3 << 20) + 64, .source = medium.data(), .length = 64});
      const absl::Status status = self.engine().Flush(1, Short());
      ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << status;
      EXPECT_TRUE(IsInDoubt(status));
      std::memset(big.data(), 0xee, big.size());
      std::memset(medium.data(), 0xee, medium.size());
      gates[0].shut = false;
      // This thread has been told; another has not.
      EXPECT_TRUE(self.engine().Flush(1, EngineRank::Soon()).ok());
      std::thread([&] {
        EXPECT_TRUE(absl::IsDeadlineExceeded(self.engine().Flush(1, EngineRank::Soon())));
      }).join();
      EXPECT_EQ(old, 77u);
      EXPECT_TRUE(self.Put(1, 2 << 20, nullptr, 0).ok());
    }
    self.Meet();
    if (self.rank() == 1) {
      EXPECT_EQ(std::memchr(self.slab(), 0xee, kSlabBytes), nullptr);
      EXPECT_TRUE(AllBytesAre(std::byte{0}, self.slab() + (3 << 20) + 64, 64));
    }
  });
}

TEST_P(EngineDeadline, ALateFlushOfAllNamesTheRanks) {
  Run(4, [](EngineRank& self) {
    if (self.rank() != 0) return;
    const uint64_t value = 1;
    gates[0].shut = true;
    for (Rank peer : {1, 2}) {
      self.engine().Post({.peer = peer, .source = &value, .length = 8}, EngineRank::Soon());
    }
    const absl::Status status = self.engine().FlushAll(Short());
    ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    const std::string message(status.message());
    EXPECT_NE(message.find("rank 1"), std::string::npos) << status;
    EXPECT_NE(message.find("rank 2"), std::string::npos) << status;
    EXPECT_EQ(message.find("rank 3"), std::string::npos) << status;
    gates[0].shut = false;
    EXPECT_TRUE(self.engine().FlushAll(EngineRank::Soon()).ok());
  });
}

// A peer that takes nothing holds up neither another one nor FlushAll's others.
TEST_P(EngineDeadline, AFullPeerDoesNotHoldUpAnother) {
  Run(3, [](EngineRank& self) {
    if (self.rank() != 0) return;
    gates[0].full_peer = 1;
    std::vector<std::byte> big(1 << 20, std::byte{7});
    const uint64_t value = 9;
    self.engine().Post({.peer = 1, .offset = 64, .source = big.data(), .length = big.size()},
                       EngineRank::Soon());
    // As many more as it may have outstanding, of each kind.
    std::vector<Engine::Handle> handles;
    for (uint64_t length : {10'000, 200, 8}) {
      absl::Status full;
      while (full.ok()) {
        const auto handle = self.engine().Start(
            {.peer = 1, .offset = 8, .source = big.data(), .length = length}, Short());
        full = handle.status();
        if (handle.ok()) handles.push_back(*handle);
      }
      EXPECT_TRUE(absl::IsDeadlineExceeded(full)) << full;
    }
    EXPECT_TRUE(self.Put(2, 64, big.data(), big.size()).ok());
    EXPECT_TRUE(self.Put(2, 8, &value, 8).ok());
    EXPECT_TRUE(self.Put(2, 8, big.data(), 200).ok());
    EXPECT_TRUE(self.Put(2, 8, big.data(), 16'000).ok());
    EXPECT_TRUE(self.engine().Flush(2, EngineRank::Soon()).ok());
    gates[0].full_peer = Gate::kNobody;
    for (Engine::Handle handle : handles) {
      EXPECT_TRUE(self.engine().Finish(handle, EngineRank::Soon()).ok());
    }
    EXPECT_TRUE(self.engine().Flush(1, EngineRank::Soon()).ok());
  });
}

// The ledger and the staging buffers are bounded; Start waits for room until its
// deadline.
TEST_P(EngineDeadline, StartWaitsForRoom) {
  Run(2, [](EngineRank& self) {
    if (self.rank() != 0) return;
    for (uint64_t length : {8, 200, 16384}) {
      const std::vector<std::byte> source(length);
      std::vector<Engine::Handle> handles;
      const auto start = [&](Deadline deadline) {
        return self.engine().Start({.peer = 1, .source = source.data(), .length = length},
                                   deadline);
      };
      gates[0].shut = true;
      absl::Status full;
      while (full.ok()) {
        const auto handle = start(Short());
        full = handle.status();
        if (handle.ok()) handles.push_back(*handle);
        ASSERT_LT(handles.size(), 100'000u);
      }
      EXPECT_TRUE(absl::IsDeadlineExceeded(full)) << full;
      EXPECT_FALSE(IsInDoubt(full));
      // Whoever waits for room gets it when there is some.
      std::thread waiter([&] {
        const auto handle = start(EngineRank::Soon());
        ASSERT_TRUE(handle.ok()) << handle.status();
        EXPECT_TRUE(self.engine().Finish(*handle, EngineRank::Soon()).ok());
      });
      gates[0].shut = false;
      for (Engine::Handle handle : handles) {
        EXPECT_TRUE(self.engine().Finish(handle, EngineRank::Soon()).ok());
      }
      waiter.join();
      EXPECT_EQ(self.engine().unsettled(), 0u);
    }
  });
}

std::vector<Fabric> BareAndOneFault() {
  std::vector<Fabric> fabrics = BareFabrics();
  for (const Fabric& bare : BareFabrics()) {
    fabrics.push_back(bare.With(FaultOptions::FromSeed(3)));
    fabrics.back().name += "Fault3";
  }
  return fabrics;
}

INSTANTIATE_TEST_SUITE_P(All, EngineDeadline, testing::ValuesIn(BareAndOneFault()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
