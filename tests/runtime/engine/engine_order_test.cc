// What the Engine hands to its transport, and when: fences, notifications
// behind bulk transfers, pieces, back-pressure, and who is woken. The transport
// completes operations when the test says so, so that nothing is left to chance.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/engine/engine.h"
#include "tests/support/noting_transport.h"
#include "tests/support/test_node.h"

namespace weft {
namespace {

constexpr uint64_t kBytes = 1 << 20;
constexpr uint64_t kLong = kMaxStagedBytes + 1;

class EngineOrder : public testing::Test {
 protected:
  EngineOrder() { Make(UINT64_MAX); }

  void Make(uint64_t max_length) {
    engine_.reset();
    notes_ = std::make_unique<TransportNotes>();
    engine_ = std::make_unique<Engine>(
        std::make_unique<NotingTransport>(*notes_, kBytes, max_length), node_.view(0),
        [](Rank) -> absl::StatusOr<PeerCard> { return PeerCard(); });
  }
  static Deadline Soon() { return Deadline::After(absl::Seconds(60)); }
  Engine::Request Put(uint64_t offset, uint64_t length, Ride ride = Ride::kNone, Rank peer = 1) {
    return {
        .ride = ride, .peer = peer, .offset = offset, .source = bytes_.data(), .length = length};
  }
  void Post(uint64_t offset, uint64_t length, Ride ride = Ride::kNone, Rank peer = 1) {
    engine_->Post(Put(offset, length, ride, peer), Soon());
  }
  // The offsets of what the transport has been given, in order.
  std::vector<uint64_t> given() const {
    std::vector<uint64_t> offsets;
    for (const auto& posted : notes_->posted()) offsets.push_back(posted.op.offset);
    return offsets;
  }
  bool fenced(size_t index) const { return notes_->posted().at(index).op.fenced; }

  using Offsets = std::vector<uint64_t>;
  TestNode node_{3, 4096};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kBytes);
  std::unique_ptr<TransportNotes> notes_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineOrder, AFenceMarksTheNextOperationOfItsLane) {
  Post(0, 8);
  Post(8, 8);
  engine_->Fence(1);
  Post(16, 8);
  Post(24, 8);
  EXPECT_EQ(given(), (Offsets{0, 8, 16, 24}));
  EXPECT_FALSE(fenced(0) || fenced(1) || fenced(3));
  EXPECT_TRUE(fenced(2));
}

// Only such a poll is sure to have taken in what had arrived: a counter that is used again
// starts behind it.
TEST_F(EngineOrder, ProgressGoesOnUntilAPollTellsOfNothing) {
  Post(0, 8);
  notes_->Complete(0);
  const size_t before = notes_->empty_polls();
  engine_->Progress();
  EXPECT_GT(notes_->empty_polls(), before);
  EXPECT_TRUE(engine_->Flush(1, Soon()).ok());
}

TEST_F(EngineOrder, AFenceWaitsForTheOtherLane) {
  Post(0, kLong);
  Post(8, 8);
  engine_->Fence(1);
  Post(16, 8);                  // Behind the bulk transfer.
  Post(24, kLong);              // Behind the small one.
  Post(32, 8, Ride::kNone, 2);  // Another peer: behind nothing.
  EXPECT_EQ(given(), (Offsets{0, 8, 32}));
  notes_->Complete(0);
  engine_->Progress();
  EXPECT_EQ(given(), (Offsets{0, 8, 32, 16}));
  EXPECT_TRUE(fenced(3));
  notes_->Complete(1);
  engine_->Progress();
  EXPECT_EQ(given(), (Offsets{0, 8, 32, 16, 24}));
  EXPECT_TRUE(fenced(4));
}

TEST_F(EngineOrder, ANotificationWaitsForEarlierBulkTransfers) {
  Post(0, kLong);
  Post(8, kLong);
  Post(16, 8);  // Plain: does not wait.
  Post(24, 8, Ride::kCounter);
  EXPECT_EQ(given(), (Offsets{0, 8, 16}));
  notes_->Complete(1);
  engine_->Progress();
  EXPECT_EQ(given().size(), 3u);
  notes_->Complete(0);
  engine_->Progress();
  EXPECT_EQ(given(), (Offsets{0, 8, 16, 24}));
}

TEST_F(EngineOrder, ANotificationOnTheBulkLaneIsFencedThere) {
  Post(0, kLong);
  Post(8, kLong, Ride::kCounter);
  EXPECT_EQ(given(), (Offsets{0, 8}));
  EXPECT_TRUE(fenced(1));
}

TEST_F(EngineOrder, LongOperationsGoInPiecesTheRideWithTheLast) {
  Make(10'000);
  Post(100, 25'000, Ride::kCounter);
  const auto posted = notes_->posted();
  ASSERT_EQ(posted.size(), 3u);
  uint64_t at = 100;
  for (const auto& [peer, op] : posted) {
    EXPECT_EQ(op.offset, at);
    EXPECT_EQ(op.local, bytes_.data() + (at - 100));
    at += op.length;
  }
  EXPECT_EQ(at, 25'100u);
  EXPECT_EQ(posted[0].op.ride, Ride::kNone);
  EXPECT_EQ(posted[1].op.ride, Ride::kNone);
  EXPECT_EQ(posted[2].op.ride, Ride::kCounter);
  EXPECT_TRUE(posted[2].op.fenced);
  notes_->Complete(2);
  notes_->Complete(0);
  engine_->Progress();
  EXPECT_NE(engine_->unsettled(), 0u);  // Not before the last piece.
  notes_->Complete(1);
  engine_->Progress();
}

TEST_F(EngineOrder, AFailedPieceEndsTheOperationAndTheRestIsNotMoved) {
  Make(10'000);
  notes_->SetRoom(1);
  const auto handle = engine_->Start(Put(0, 30'000, Ride::kCounter), Soon());
  ASSERT_TRUE(handle.ok());
  EXPECT_EQ(given(), (Offsets{0}));
  notes_->Complete(0, Event::Result::kInternal);
  notes_->SetRoom(100);
  EXPECT_TRUE(absl::IsInternal(engine_->Finish(*handle, Soon())));
  EXPECT_EQ(given(), (Offsets{0}));
}

// Not at a moment when a piece of it is with the transport and the rest is not.
TEST_F(EngineOrder, ADeathAmidstThePieces) {
  Make(10'000);
  notes_->SetRoom(1);
  const auto handle = engine_->Start(Put(0, 30'000), Soon());
  const auto unstarted = engine_->Start(Put(40'000, 8), Soon());
  ASSERT_TRUE(handle.ok() && unstarted.ok());
  notes_->Complete(0, Event::Result::kPeerDown);
  node_.authority().MarkDead(1, 9);
  EXPECT_TRUE(absl::IsUnavailable(engine_->Finish(*unstarted, Soon())));
  EXPECT_TRUE(absl::IsUnavailable(engine_->Finish(*handle, Soon())));
  EXPECT_EQ(notes_->abandoned(), (std::vector<Lane>{Lane::kSmall}));
  EXPECT_EQ(engine_->unsettled() & 0xffff, 0u);
}

// The same, when it is the transport that finds the peer gone.
TEST_F(EngineOrder, ALossAmidstThePieces) {
  Make(5'000);
  notes_->SetRoom(1);
  const auto handle = engine_->Start(Put(0, 15'000), Soon());
  Post(20'000, 15'000);
  ASSERT_TRUE(handle.ok());
  notes_->Complete(0, Event::Result::kPeerDown);
  EXPECT_TRUE(absl::IsUnavailable(engine_->Finish(*handle, Soon())));
  EXPECT_TRUE(absl::IsUnavailable(engine_->Flush(1, Soon())));
  EXPECT_EQ(notes_->abandoned(), (std::vector<Lane>{Lane::kSmall}));
  EXPECT_EQ(engine_->unsettled() & 0xffff, 0u);
  EXPECT_EQ(given(), (Offsets{0}));
}

TEST_F(EngineOrder, ARefusedPostIsRepeatedInOrder) {
  notes_->SetRoom(2);
  Offsets all;
  for (uint64_t i = 0; i < 50; ++i) {
    all.push_back(8 * i);
    Post(8 * i, 8);
  }
  EXPECT_EQ(given(), (Offsets{0, 8}));
  notes_->SetRoom(20);
  engine_->Progress();
  EXPECT_EQ(given().size(), 22u);
  notes_->SetRoom(1000);
  engine_->Progress();
  EXPECT_EQ(given(), all);
}

TEST_F(EngineOrder, AnEventThatComesTwiceEndsNothingElse) {
  const auto first = engine_->Start(Put(0, 8), Soon());
  notes_->Complete(0);
  notes_->Complete(0);
  EXPECT_TRUE(engine_->Finish(*first, Soon()).ok());
  const auto second = engine_->Start(Put(8, 8), Soon());  // In the same slot.
  notes_->Complete(0);
  EXPECT_FALSE(engine_->Done(*second));
  notes_->Complete(1);
  EXPECT_TRUE(engine_->Finish(*second, Soon()).ok());
}

// A thread that sleeps is woken when another one finds its completion.
TEST_F(EngineOrder, WhoeverCompletesWakesWhoeverWaits) {
  for (int i = 0; i < 20; ++i) {
    const auto handle = engine_->Start(Put(0, 8), Deadline());
    ASSERT_TRUE(handle.ok());
    std::future<absl::Status> waiter =
        std::async(std::launch::async, [&] { return engine_->Finish(*handle, Deadline()); });
    // It has armed the doorbell, and sleeps or is about to.
    while (node_.view(0).control(0).doorbell.state.load() == 0) std::this_thread::yield();
    notes_->CompleteAll();
    engine_->Progress();
    EXPECT_TRUE(waiter.get().ok());
  }
}

TEST_F(EngineOrder, ADestroyedEngineAbandonsItsPeers) {
  Post(0, 8);
  Post(0, 8, Ride::kNone, 2);
  engine_.reset();
  EXPECT_EQ(notes_->abandoned(), (std::vector<Lane>{Lane::kSmall, Lane::kSmall}));
}

}  // namespace
}  // namespace weft
