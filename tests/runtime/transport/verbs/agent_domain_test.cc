// The agent domain over a device that carries nothing out: what is bounded, what a peer may not,
// and what becomes of requests that are never answered.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/transport/verbs/address_blob.h"
#include "runtime/transport/verbs/message.h"
#include "runtime/transport/verbs/verbs_transport.h"
#include "tests/support/null_verbs.h"
#include "tests/support/test_node.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 4096;

VerbsOptions Options(AtomicsChoice atomics) {
  VerbsOptions options;
  options.device = "null0:1";
  options.atomics = atomics;
  return options;
}

// Rank 0, connected to a rank 1 that is only published.
class AgentDomain : public ::testing::Test {
 protected:
  void SetUp() override {
    peer_ = Make(1, AtomicsChoice::kAgent);
    slab_ = *peer_->Register({Segment::Kind::kSlab, {node_.view(1).slab(1), kSlabBytes}});
    self_ = Make(0, AtomicsChoice::kAgent);  // Last: its queues are the device's.
    ASSERT_TRUE(self_->Connect(1, peer_->Address()).ok());
    region_ = *self_->Import(1, slab_->key());
    Event connected;
    ASSERT_EQ(self_->Poll({&connected, 1}), 1u);
  }
  std::unique_ptr<VerbsTransport> Make(Rank rank, AtomicsChoice atomics) {
    auto transport = VerbsTransport::Create(verbs_.library(), Options(atomics), node_.view(rank));
    EXPECT_TRUE(transport.ok()) << transport.status();
    return *std::move(transport);
  }
  Op Add(uint64_t token) {
    return {.kind = Op::Kind::kFetchAdd,
            .token = token,
            .region = &region_,
            .offset = 8,
            .local = &old_,
            .length = 8,
            .operand = 1};
  }
  bool Post(const Op& op) { return self_->Post(1, {&op, 1}) == 1; }
  std::vector<Event> Poll() {
    Event events[64];
    return {events, events + self_->Poll(events)};
  }
  void Arrive(const Message& message) {
    std::array<std::byte, Message::kBytes> bytes;
    message.Encode(bytes);
    verbs_.Deliver(SmallPair(), bytes);
  }
  uint32_t SmallPair() { return DecodeVerbsAddress(self_->Address())->pairs[1].small.number; }
  uint64_t Word(uint64_t offset) {
    uint64_t word;
    std::memcpy(&word, node_.view(0).slab(0) + offset, sizeof(word));
    return word;
  }

  NullVerbs verbs_;
  TestNode node_{2, kSlabBytes};
  std::unique_ptr<VerbsTransport> peer_, self_;
  std::unique_ptr<Registration> slab_;
  RemoteRegion region_;
  uint64_t old_ = 42;
};

TEST_F(AgentDomain, ItsAtomicsAreTheProcessors) {
  EXPECT_EQ(self_->caps().atomics, Transport::Atomics::kAll);
  EXPECT_TRUE(self_->caps().atomics_match_cpu);
}

TEST_F(AgentDomain, APeerOfAnotherDomainIsRefusedWithTheCure) {
  const auto other = Make(1, AtomicsChoice::kNic);
  const absl::Status status = Make(0, AtomicsChoice::kAgent)->Connect(1, other->Address());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  for (const char* part : {"rank 1", "rank 0", "WEFT_ATOMICS=agent on all ranks"}) {
    EXPECT_NE(status.message().find(part), absl::string_view::npos) << status;
  }
}

TEST_F(AgentDomain, NoMoreThanSixteenRequestsAreUnanswered) {
  uint64_t taken = 0;
  while (taken < 100 && Post(Add(taken + 1))) {
    ++taken;
    verbs_.EndAll(IBV_WC_SUCCESS);
    EXPECT_TRUE(Poll().empty()) << "that it was sent does not complete it";
  }
  EXPECT_EQ(taken, 16u);
  EXPECT_TRUE(self_->Arm().ready);
}

TEST_F(AgentDomain, AFencedPutWaitsForTheAnswer) {
  ASSERT_TRUE(Post(Add(1)));
  verbs_.EndAll(IBV_WC_SUCCESS);
  Poll();
  const Op put = {.fenced = true, .token = 2, .region = &region_, .local = &old_, .length = 8};
  EXPECT_FALSE(Post(put));
  self_->Abandon(1, Lane::kSmall);
  EXPECT_EQ(Poll().size(), 2u) << "the atomic, and the peer";
}

TEST_F(AgentDomain, ARequestThatIsNeverAnsweredEndsOnceWithItsPeer) {
  ASSERT_TRUE(Post(Add(1)));  // Sent, not answered.
  verbs_.EndAll(IBV_WC_SUCCESS);
  ASSERT_TRUE(Post(Add(2)));  // Not even sent.
  EXPECT_TRUE(Poll().empty());
  self_->Abandon(1, Lane::kSmall);
  int ended = 0;
  for (const Event& event : Poll()) {
    if (event.kind != Event::Kind::kCompleted) continue;
    EXPECT_EQ(event.result, Event::Result::kPeerDown);
    ++ended;
  }
  EXPECT_EQ(ended, 2);
  EXPECT_TRUE(Poll().empty());
}

TEST_F(AgentDomain, WhatAPeerAsksForIsCarriedOutAndAnsweredOnce) {
  const size_t before = verbs_.requests();
  Arrive({.kind = Message::Kind::kAtomic,
          .number = 3,
          .operation = Op::Kind::kFetchAdd,
          .length = 8,
          .offset = 16,
          .operand = 5});
  EXPECT_TRUE(Poll().empty());
  EXPECT_EQ(Word(16), 5u);
  ASSERT_EQ(verbs_.requests(), before + 1);
  EXPECT_EQ(verbs_.posted().back().request.opcode, IBV_WR_SEND);
  EXPECT_EQ(verbs_.posted().back().length, Message::kBytes);
}

TEST_F(AgentDomain, WildMessagesTouchNothing) {
  ASSERT_TRUE(Post(Add(1)));
  verbs_.EndAll(IBV_WC_SUCCESS);
  const std::vector<std::byte> before(node_.view(0).slab(0), node_.view(0).slab(0) + kSlabBytes);
  for (uint32_t number : {0u, 1u, 2u, ~0u}) {
    Arrive({.kind = Message::Kind::kReply, .number = number, .operand = 7});
  }
  Arrive({.kind = Message::Kind::kCount, .number = kMaxCounters});
  Arrive({.kind = Message::Kind::kAtomic,
          .operation = Op::Kind::kSet,
          .length = 8,
          .offset = kSlabBytes,
          .operand = ~uint64_t{0}});
  std::array<std::byte, Message::kBytes> noise;
  noise.fill(std::byte{0xee});
  verbs_.Deliver(SmallPair(), noise);
  verbs_.Deliver(SmallPair(), std::span(noise).first(5));
  EXPECT_TRUE(Poll().empty());
  EXPECT_EQ(old_, 42u);
  EXPECT_EQ(std::memcmp(before.data(), node_.view(0).slab(0), kSlabBytes), 0);
}

TEST_F(AgentDomain, NothingOfAPeerThatWasGivenUpLandsAnyMore) {
  const uint32_t pair = SmallPair();
  self_->Abandon(1, Lane::kSmall);
  std::array<std::byte, Message::kBytes> bytes;
  Message{.kind = Message::Kind::kAtomic,
          .operation = Op::Kind::kSet,
          .length = 8,
          .offset = 16,
          .operand = 5}
      .Encode(bytes);
  verbs_.Deliver(pair, bytes);
  Poll();
  EXPECT_EQ(Word(16), 0u);
}

}  // namespace
}  // namespace weft
