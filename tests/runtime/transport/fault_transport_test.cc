// The fault transport does what it is asked to, within the contract: seen from
// below, by a transport that notes what it is given, and from above.
#include "runtime/transport/fault/fault_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/noting_transport.h"

namespace weft {
namespace {

class FaultTransportTest : public testing::Test {
 protected:
  void Make(const FaultOptions& options) {
    notes_ = std::make_unique<TransportNotes>();
    notes_->CompleteAtOnce();
    told_.clear();
    down_ = false;
    fault_ = std::make_unique<FaultTransport>(std::make_unique<NotingTransport>(*notes_, kBytes),
                                              options);
    ASSERT_TRUE(fault_->Connect(0, "nowhere").ok());
    Event event;
    ASSERT_EQ(fault_->Poll({&event, 1}), 1u);
    ASSERT_EQ(event.kind, Event::Kind::kConnected);
  }
  Op Put(uint64_t token, uint64_t offset, uint64_t length = 8) {
    return {
        .token = token, .region = &region_, .offset = offset, .local = bytes_, .length = length};
  }
  void Poll() {
    Event events[8];
    const size_t count = fault_->Poll(events);
    for (size_t i = 0; i < count; ++i) {
      down_ |= events[i].kind == Event::Kind::kPeerDown;
      if (events[i].kind != Event::Kind::kCompleted) continue;
      EXPECT_FALSE(told_.contains(events[i].token));
      told_[events[i].token] = events[i].result;
    }
  }
  std::vector<Op> moved() const {
    std::vector<Op> ops;
    for (const TransportNotes::Posted& posted : notes_->posted()) ops.push_back(posted.op);
    return ops;
  }
  void PostAll(const std::vector<Op>& ops) {
    for (size_t posted = 0; posted < ops.size();) {
      posted += fault_->Post(0, std::span(ops).subspan(posted));
      Poll();
    }
    while (told_.size() < ops.size()) Poll();
  }

  static constexpr uint64_t kBytes = 1 << 16;
  std::byte bytes_[kBytes];
  RemoteRegion region_ = {.length = kBytes};
  std::unique_ptr<TransportNotes> notes_;
  std::unique_ptr<FaultTransport> fault_;
  std::map<uint64_t, Event::Result> told_;
  bool down_ = false;
};

TEST_F(FaultTransportTest, DelaysTheMovementItself) {
  Make({.min_delay_ns = int64_t{1} << 50, .max_delay_ns = int64_t{1} << 51});
  const Op op = Put(1, 0);
  EXPECT_EQ(fault_->Post(0, {&op, 1}), 1u);
  for (int i = 0; i < 1000; ++i) Poll();
  EXPECT_TRUE(moved().empty());
  const Armed armed = fault_->Arm();
  EXPECT_FALSE(armed.ready);
  EXPECT_FALSE(armed.at.infinite());
  EXPECT_FALSE(armed.at.Expired());
}

TEST_F(FaultTransportTest, CompletesAtOnceAndLate) {
  Make({.min_delay_ns = int64_t{1} << 50, .max_delay_ns = int64_t{1} << 51, .at_once = 1});
  const Op op = Put(1, 0);
  EXPECT_EQ(fault_->Post(0, {&op, 1}), 1u);
  EXPECT_EQ(moved().size(), 1u);
  Poll();
  EXPECT_EQ(told_.size(), 1u);

  Make({.min_delay_ns = int64_t{1} << 50,
        .max_delay_ns = int64_t{1} << 51,
        .at_once = 1,
        .late_event = 1});
  EXPECT_EQ(fault_->Post(0, {&op, 1}), 1u);
  EXPECT_EQ(moved().size(), 1u);
  for (int i = 0; i < 100; ++i) Poll();
  EXPECT_TRUE(told_.empty());
}

TEST_F(FaultTransportTest, ReordersButNeverAcrossAFence) {
  constexpr uint64_t kOps = 400, kEvery = 20;
  bool reordered = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Make({.seed = seed, .at_once = 0.2, .late_event = 0.3, .refuse = 0.1, .capacity = 64});
    std::vector<Op> ops;
    for (uint64_t i = 0; i < kOps; ++i) {
      ops.push_back(Put(i + 1, 8 * i));
      ops.back().fenced = i % kEvery == 0;
    }
    PostAll(ops);
    ASSERT_EQ(moved().size(), kOps);
    const std::vector<Op> order = moved();
    for (uint64_t i = 0; i < kOps; ++i) {
      const uint64_t index = order[i].offset / 8;
      reordered |= index != i;
      ASSERT_EQ(index / kEvery, i / kEvery);
    }
  }
  EXPECT_TRUE(reordered);
}

TEST_F(FaultTransportTest, FencesOneLaneAtATime) {
  Make({.at_once = 1});
  notes_->SetRoom(0);  // The bulk operation stays.
  Op bulk = Put(1, 0, 40'000);
  bulk.lane = Lane::kBulk;
  EXPECT_EQ(fault_->Post(0, {&bulk, 1}), 1u);
  notes_->SetRoom(1);
  Op small = Put(2, 8);
  small.fenced = true;
  EXPECT_EQ(fault_->Post(0, {&small, 1}), 1u);
  ASSERT_EQ(moved().size(), 1u);
  EXPECT_EQ(moved()[0].offset, 8u);
}

TEST_F(FaultTransportTest, SplitsIntoPiecesThatAddUpWithTheRideLast) {
  std::set<std::vector<uint64_t>> orders;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Make({.seed = seed, .split = 1});
    Op op = Put(1, 100, 1000 + seed);
    op.ride = Ride::kCounter;
    PostAll({op});
    ASSERT_GE(moved().size(), 3u);
    std::vector<bool> there(op.length);
    std::vector<uint64_t> order;
    const std::vector<Op> pieces = moved();
    for (const Op& piece : pieces) {
      const bool last = &piece == &pieces.back();
      EXPECT_EQ(piece.ride, last ? Ride::kCounter : Ride::kNone);
      order.push_back(piece.offset);
      if (piece.length == 0) continue;
      EXPECT_EQ(static_cast<std::byte*>(piece.local) - bytes_,
                static_cast<ptrdiff_t>(piece.offset - op.offset));
      for (uint64_t i = 0; i < piece.length; ++i) {
        ASSERT_FALSE(there.at(piece.offset - op.offset + i));
        there[piece.offset - op.offset + i] = true;
      }
    }
    EXPECT_EQ(std::ranges::count(there, false), 0);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 25u);
}

TEST_F(FaultTransportTest, LeavesWholeWhatMustNotBeTornOrIsRefusedBelow) {
  Make({.split = 1});
  Op atomic = Put(1, 8);
  atomic.kind = Op::Kind::kFetchAdd;
  Op bad = Put(3, kBytes - 100, 1000);
  Op bad_ride = Put(4, 0, 1000);
  bad_ride.ride = Ride::kAddSignal;
  bad_ride.compare = kBytes;
  PostAll({atomic, Put(2, 16), bad, bad_ride});
  EXPECT_EQ(moved().size(), 4u);
}

TEST_F(FaultTransportTest, RefusesAndIsBounded) {
  Make({.min_delay_ns = int64_t{1} << 50, .max_delay_ns = int64_t{1} << 51, .capacity = 5});
  const std::vector<Op> ops(10, Put(1, 0));
  EXPECT_EQ(fault_->Post(0, ops), 5u);
  EXPECT_EQ(fault_->Post(0, ops), 0u);

  Make({.refuse = 0.5, .capacity = 1000});
  int refused = 0;
  for (uint64_t token = 1; token <= 500; ++token) {
    const Op op = Put(token, 0);
    refused += fault_->Post(0, {&op, 1}) == 0;
  }
  EXPECT_GT(refused, 150);
  EXPECT_LT(refused, 350);
}

TEST_F(FaultTransportTest, AbandonEndsWhatWaits) {
  Make({.min_delay_ns = int64_t{1} << 50, .max_delay_ns = int64_t{1} << 51});
  std::vector<Op> ops = {Put(1, 0), Put(2, 0, 40'000)};
  ops[1].lane = Lane::kBulk;
  EXPECT_EQ(fault_->Post(0, ops), 2u);
  fault_->Abandon(0, Lane::kBulk);
  Poll();
  EXPECT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_.at(2), Event::Result::kPeerDown);
  fault_->Abandon(0, Lane::kSmall);
  Poll();
  EXPECT_EQ(told_.at(1), Event::Result::kPeerDown);
  const Op late = Put(3, 0);
  EXPECT_EQ(fault_->Post(0, {&late, 1}), 1u);
  Poll();
  EXPECT_EQ(told_.at(3), Event::Result::kPeerDown);
  EXPECT_TRUE(moved().empty());
  EXPECT_EQ(notes_->abandoned(), (std::vector<Lane>{Lane::kBulk, Lane::kSmall}));
}

TEST_F(FaultTransportTest, KillsAndBreaksAndEveryTokenComesBack) {
  bool killed = false, spared = false, broken = false;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    FaultOptions options = FaultOptions::FromSeed(seed);
    options.max_delay_ns = options.min_delay_ns = 0;
    options.kill = 0.005;
    options.break_bulk = 0.05;
    Make(options);
    std::vector<Op> ops;
    for (uint64_t token = 1; token <= 100; ++token) {
      ops.push_back(Put(token, 0, token % 5 == 0 ? 20'000 : 8));
      ops.back().lane = token % 5 == 0 ? Lane::kBulk : Lane::kSmall;
    }
    PostAll(ops);
    killed |= down_;
    spared |= !down_;
    for (const auto& [token, result] : told_) {
      if (result == Event::Result::kOk) continue;
      EXPECT_EQ(result, Event::Result::kPeerDown);
      EXPECT_TRUE(down_ || token % 5 == 0);
      broken |= !down_;
    }
  }
  EXPECT_TRUE(killed && spared && broken);
}

TEST(FaultOptions, SeedsDiffer) {
  std::set<int64_t> delays;
  std::set<double> splits, refusals;
  std::set<uint32_t> capacities;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const FaultOptions options = FaultOptions::FromSeed(seed);
    EXPECT_EQ(options.seed, FaultOptions::FromSeed(seed).seed);
    EXPECT_EQ(options.kill, 0);
    EXPECT_EQ(options.break_bulk, 0);
    delays.insert(options.max_delay_ns);
    splits.insert(options.split);
    refusals.insert(options.refuse);
    capacities.insert(options.capacity);
  }
  EXPECT_GE(std::min({delays.size(), splits.size(), refusals.size(), capacities.size()}), 3u);
}

}  // namespace
}  // namespace weft
