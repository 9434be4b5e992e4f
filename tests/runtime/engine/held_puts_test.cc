// Posted puts of a word that the Engine holds back, to hand them over together: when they go, and
// what becomes of them when the transport takes only some, a fence comes between, a flush is
// late, or the peer goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "runtime/base/in_doubt.h"
#include "runtime/engine/engine.h"
#include "tests/support/noting_transport.h"
#include "tests/support/test_node.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

constexpr size_t kBurst = 16;

class HeldPuts : public testing::Test {
 protected:
  HeldPuts() {
    engine_ = std::make_unique<Engine>(
        std::make_unique<NotingTransport>(notes_, 4096, UINT64_MAX, /*needs_service=*/true),
        node_.view(0), [](Rank) -> absl::StatusOr<PeerCard> { return PeerCard(); });
    // They are once the service thread has seen that this rank posts; the first go alone.
    const Deadline patience = Deadline::After(absl::Seconds(60));
    notes_.CompleteAtOnce(true);
    do {
      before_ = given();
      Post(1);
      EXPECT_FALSE(patience.Expired());
    } while (given() != before_);
    EXPECT_TRUE(engine_->FlushAll(patience).ok());
    notes_.CompleteAtOnce(false);
    before_ = given();
  }
  static Deadline Soon() { return Deadline::After(absl::Seconds(60)); }
  void Post(uint64_t value, Rank peer = 1) {
    engine_->PostShort(peer, value * 8, &value, sizeof(value), Soon());
  }
  void PostHeld(uint64_t first, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) Post(first + i);
  }
  size_t given() const { return notes_.posted().size(); }
  // Those since the constructor's.
  std::vector<TransportNotes::Posted> posted() const {
    std::vector<TransportNotes::Posted> all = notes_.posted();
    all.erase(all.begin(), all.begin() + static_cast<ptrdiff_t>(before_));
    return all;
  }
  std::vector<uint64_t> offsets() const {
    std::vector<uint64_t> offsets;
    for (const auto& one : posted()) offsets.push_back(one.op.offset / 8);
    return offsets;
  }
  static std::vector<uint64_t> Range(uint64_t first, uint64_t end) {
    std::vector<uint64_t> range;
    for (; first < end; ++first) range.push_back(first);
    return range;
  }

  TestNode node_{3, 4096};
  TransportNotes notes_;
  std::unique_ptr<Engine> engine_;
  size_t before_ = 0;
};

TEST_F(HeldPuts, ABurstHasOneTokenAndItsValues) {
  PostHeld(0, kBurst);
  ASSERT_EQ(offsets(), Range(0, kBurst));
  const auto all = posted();
  for (size_t i = 0; i < kBurst; ++i) {
    uint64_t value;
    std::memcpy(&value, all[i].op.local, sizeof(value));
    EXPECT_EQ(value, i);
    EXPECT_EQ(all[i].op.length, 8u);
  }
  EXPECT_NE(all.back().op.token, 0u);
  EXPECT_NE(engine_->unsettled().load(), 0u);
  notes_.CompleteAll();
  EXPECT_TRUE(engine_->Flush(1, Soon()).ok());
  EXPECT_EQ(engine_->unsettled().load(), 0u);
}

TEST_F(HeldPuts, TheServiceThreadSendsWhatNothingFollows) {
  Post(0);
  const Deadline patience = Soon();
  while (posted().empty()) {
    ASSERT_FALSE(patience.Expired());
    absl::SleepFor(absl::Milliseconds(1));
  }
  notes_.CompleteAll();
  EXPECT_TRUE(engine_->Flush(1, Soon()).ok());
}

TEST_F(HeldPuts, WhatTheTransportHasNoRoomForGoesLaterAndInOrder) {
  notes_.SetRoom(5);
  PostHeld(0, kBurst);
  EXPECT_EQ(offsets(), Range(0, 5));
  PostHeld(kBurst, 4);
  notes_.SetRoom(3);
  engine_->Progress();
  EXPECT_EQ(offsets(), Range(0, 8));
  notes_.SetRoom(SIZE_MAX);
  engine_->Progress();
  EXPECT_EQ(offsets(), Range(0, kBurst + 4));
  notes_.CompleteAll();
  EXPECT_TRUE(engine_->Flush(1, Soon()).ok());
}

TEST_F(HeldPuts, WhereNoneFitsMoreMayFollowThem) {
  notes_.SetRoom(0);
  Post(0);
  engine_->Progress();
  Post(1);
  notes_.SetRoom(SIZE_MAX);
  engine_->Progress();
  EXPECT_EQ(offsets(), Range(0, 2));
  EXPECT_NE(posted().back().op.token, 0u);
  notes_.CompleteAll();
  EXPECT_TRUE(engine_->Flush(1, Soon()).ok());
}

TEST_F(HeldPuts, AFenceComesBetween) {
  PostHeld(0, 3);
  engine_->Fence(1);
  PostHeld(3, 2);
  engine_->Progress();
  ASSERT_EQ(offsets(), Range(0, 5));
  const auto all = posted();
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(all[i].op.fenced, i == 3) << i;
  EXPECT_NE(all[2].op.token, 0u);
  notes_.CompleteAll();
  EXPECT_TRUE(engine_->Flush(1, Soon()).ok());
}

TEST_F(HeldPuts, NothingJoinsThemPastAFenceThoughNoneFits) {
  notes_.SetRoom(0);
  PostHeld(0, 2);
  engine_->Fence(1);
  engine_->Progress();
  PostHeld(2, 2);
  notes_.SetRoom(SIZE_MAX);
  engine_->Progress();
  ASSERT_EQ(offsets(), Range(0, 4));
  const auto all = posted();
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(all[i].op.fenced, i == 2) << i;
  notes_.CompleteAll();
  EXPECT_TRUE(engine_->Flush(1, Soon()).ok());
}

TEST_F(HeldPuts, EachPeerHasItsOwn) {
  for (uint64_t i = 0; i < 4; ++i) Post(i, i % 2 == 0 ? 1 : 2);
  engine_->Progress();
  ASSERT_EQ(posted().size(), 4u);
  notes_.CompleteAll();
  EXPECT_TRUE(engine_->FlushAll(Soon()).ok());
}

TEST_F(HeldPuts, AnotherOperationFollowsThem) {
  PostHeld(0, 2);
  uint64_t value = 7;
  engine_->Post({.ride = Ride::kCounter, .peer = 1, .offset = 16, .source = &value, .length = 8},
                Soon());
  EXPECT_EQ(offsets(), Range(0, 3));
  notes_.CompleteAll();
  EXPECT_TRUE(engine_->Flush(1, Soon()).ok());
}

TEST_F(HeldPuts, WhatFailedIsToldOnceAndSaysHowMany) {
  PostHeld(0, kBurst);
  ASSERT_EQ(posted().size(), kBurst);
  notes_.Complete(before_ + kBurst - 1, Event::Result::kInternal);
  const absl::Status status = engine_->Flush(1, Soon());
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("put of 8 bytes at offset 0 of rank 1"));
  EXPECT_TRUE(engine_->Flush(1, Soon()).ok());
}

TEST_F(HeldPuts, ALateFlushGivesUpThoseThatWereNotBegun) {
  notes_.SetRoom(0);
  PostHeld(0, 3);
  const absl::Status late = engine_->Flush(1, Deadline::After(absl::Milliseconds(20)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  notes_.SetRoom(SIZE_MAX);
  engine_->Progress();
  EXPECT_TRUE(posted().empty());
  EXPECT_TRUE(engine_->Flush(1, Soon()).ok());
}

// The transport reads their values until it tells of the last.
TEST_F(HeldPuts, ALateFlushLetsThoseThatWereBegunGoOn) {
  notes_.SetRoom(1);
  PostHeld(0, 3);
  const absl::Status late = engine_->Flush(1, Deadline::After(absl::Milliseconds(20)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_TRUE(IsInDoubt(late));
  notes_.SetRoom(SIZE_MAX);
  engine_->Progress();
  EXPECT_EQ(offsets(), Range(0, 3));
  notes_.CompleteAll();
  EXPECT_TRUE(engine_->Flush(1, Soon()).ok());
  EXPECT_EQ(engine_->unsettled().load() & 0x7fffffff, 0u);
}

// It looks while this rank posts; those that found no room may be there for longer.
TEST_F(HeldPuts, NothingJoinsThemWhereTheThreadHasStoppedLooking) {
  notes_.SetRoom(0);
  Post(0);
  // The first may be due to a look before the put; the second has seen it, the third none since.
  const size_t serves = notes_.serves() + 3;
  const Deadline patience = Soon();
  while (notes_.serves() < serves) {
    ASSERT_FALSE(patience.Expired());
    absl::SleepFor(absl::Milliseconds(1));
  }
  notes_.SetRoom(SIZE_MAX);
  Post(1);
  EXPECT_EQ(offsets(), Range(0, 2));
  notes_.CompleteAll();
  EXPECT_TRUE(engine_->Flush(1, Soon()).ok());
}

TEST_F(HeldPuts, APeerThatGoesBeforeAnyWasTakenIsToldWithThem) {
  notes_.SetRoom(0);
  PostHeld(0, 3);
  node_.authority().MarkDead(1, 9);
  engine_->Progress();
  EXPECT_EQ(engine_->unsettled().load() & 0x7fffffff, 0u);
  EXPECT_TRUE(absl::IsUnavailable(engine_->Flush(1, Soon())));
}

TEST_F(HeldPuts, APeerThatGoesEndsThem) {
  notes_.SetRoom(1);
  PostHeld(0, 3);
  engine_->Progress();
  node_.authority().MarkDead(1, 9);
  const absl::Status status = engine_->Flush(1, Soon());
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(engine_->unsettled().load() & 0x7fffffff, 0u);
  // And what follows finds it gone.
  Post(9);
  EXPECT_TRUE(absl::IsUnavailable(engine_->Flush(1, Soon())));
}

TEST_F(HeldPuts, BadOnesAreToldByFlush) {
  const uint64_t value = 0;
  engine_->PostShort(1, 4095, &value, sizeof(value), Soon());
  EXPECT_TRUE(absl::IsOutOfRange(engine_->Flush(1, Soon())));
  engine_->PostShort(9, 0, &value, sizeof(value), Soon());
  EXPECT_TRUE(absl::IsInvalidArgument(engine_->FlushAll(Soon())));
  EXPECT_TRUE(posted().empty());
}

}  // namespace
}  // namespace weft
