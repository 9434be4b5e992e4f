// How operations are said in work requests.
#include "runtime/transport/verbs/work_chain.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <deque>

namespace weft {
namespace {

class WorkChainTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kOwner = 7;
  static constexpr uint32_t kFirst = 0xffffffff;  // Positions wrap.

  const RemoteRegion region_ = {.mapped = nullptr, .base = 0x10000, .key = 5, .length = 0x1000};
  uint64_t local_ = 1;
  uint64_t scratch_ = 0;
  const WorkChain::Remote proof_ = {.at = 0x20000, .key = 6};
  std::deque<WorkChain::Setup> setups_;
  WorkChain chain_ = Chain({});

  WorkChain Chain(const Dialect& dialect) {
    setups_.push_back(
        {.max_inline = 64, .scratch = {.at = &scratch_, .key = 9}, .dialect = dialect});
    return WorkChain(setups_.back(), uint64_t{kOwner} << 32 | kFirst, proof_);
  }
  static Message Sent(const ibv_send_wr& request) {
    const auto message = Message::Decode(
        {reinterpret_cast<const std::byte*>(request.sg_list->addr), request.sg_list->length});
    return message.value_or(Message{.number = 0xbad});
  }

  Op Put(uint64_t length) {
    return {.local_key = 3, .region = &region_, .offset = 16, .local = &local_, .length = length};
  }
};

TEST_F(WorkChainTest, AShortPutIsInlineAndTheLastIsSignalled) {
  chain_.Add(Put(8));
  chain_.Add(Put(65));
  const ibv_send_wr* const first = chain_.Close();
  EXPECT_EQ(first->opcode, IBV_WR_RDMA_WRITE);
  EXPECT_EQ(first->send_flags, unsigned{IBV_SEND_INLINE});
  EXPECT_EQ(first->wr.rdma.remote_addr, 0x10010u);
  EXPECT_EQ(first->wr.rdma.rkey, 5u);
  EXPECT_EQ(first->wr_id, uint64_t{kOwner} << 32 | kFirst);
  ASSERT_NE(first->next, nullptr);
  EXPECT_EQ(first->next->send_flags, unsigned{IBV_SEND_SIGNALED});
  EXPECT_EQ(first->next->sg_list->lkey, 3u);
  EXPECT_EQ(first->next->wr_id, uint64_t{kOwner} << 32);
  EXPECT_EQ(first->next->next, nullptr);
}

TEST_F(WorkChainTest, ANotificationIsAnImmediateBehindItsData) {
  Op op = Put(8);
  op.ride = Ride::kCounter;
  op.operand = 42;
  ASSERT_EQ(WorkChain::RequestsOf(op, {}), 1u);
  chain_.Add(op);
  const ibv_send_wr* const request = chain_.Close();
  EXPECT_EQ(request->opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
  const auto message = Message::FromImmediate(ntohl(request->imm_data));
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->kind, Message::Kind::kCount);
  EXPECT_EQ(message->number, 42u);
}

TEST_F(WorkChainTest, SignalsFollowTheDataAndWake) {
  Op op = Put(8);
  op.ride = Ride::kAddSignal;
  op.operand = 2;
  op.compare = 64;
  ASSERT_EQ(WorkChain::RequestsOf(op, {}), 3u);
  chain_.Add(op);
  const ibv_send_wr* request = chain_.Close();
  EXPECT_EQ(request->opcode, IBV_WR_RDMA_WRITE);
  request = request->next;
  EXPECT_EQ(request->opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
  EXPECT_EQ(request->wr.atomic.remote_addr, 0x10040u);
  EXPECT_EQ(request->wr.atomic.compare_add, 2u);
  EXPECT_EQ(request->sg_list->lkey, 9u) << "nobody wants the old value";
  request = request->next;
  EXPECT_EQ(request->opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
  EXPECT_EQ(request->num_sge, 0);
  EXPECT_EQ(Message::FromImmediate(ntohl(request->imm_data))->kind, Message::Kind::kWake);
}

TEST_F(WorkChainTest, AFetchAddsNothing) {
  const Op op = {.kind = Op::Kind::kFetch,
                 .fenced = true,
                 .local_key = 3,
                 .region = &region_,
                 .local = &local_,
                 .length = 8,
                 .operand = 77};
  chain_.Add(op);
  const ibv_send_wr* const request = chain_.Close();
  EXPECT_EQ(request->opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
  EXPECT_EQ(request->wr.atomic.compare_add, 0u);
  EXPECT_TRUE(request->send_flags & IBV_SEND_FENCE);
}

TEST_F(WorkChainTest, ItIsFullBeforeTheLargestOperationNoLongerFits) {
  Op op = Put(8);
  op.ride = Ride::kAddSignal;
  while (!chain_.full()) {
    const size_t before = chain_.size();
    chain_.Add(op);
    ASSERT_EQ(chain_.size() - before, WorkChain::RequestsOf(op, {}));
  }
  EXPECT_EQ(chain_.size(), WorkChain::kMaxRequests - 1) << "one proves";
}

TEST_F(WorkChainTest, AsMessagesSignalsFollowTheDataAsRequests) {
  const Dialect dialect = {.messages = true};
  WorkChain chain = Chain(dialect);
  const RemoteRegion control = {
      .base = 0x10000, .key = RegionKey(5, Segment::Kind::kControl), .length = 0x1000};
  Op op = Put(8);
  op.region = &control;
  op.ride = Ride::kAddSignal;
  op.operand = 2;
  op.compare = 64;
  ASSERT_EQ(WorkChain::RequestsOf(op, dialect), 2u);
  chain.Add(op, 33);
  const ibv_send_wr* request = chain.Close();
  EXPECT_EQ(request->opcode, IBV_WR_RDMA_WRITE);
  EXPECT_EQ(request->wr.rdma.rkey, 5u);
  request = request->next;
  EXPECT_EQ(request->opcode, IBV_WR_SEND);
  EXPECT_EQ(request->send_flags, unsigned{IBV_SEND_INLINE} | IBV_SEND_SIGNALED);
  const Message message = Sent(*request);
  EXPECT_EQ(message.kind, Message::Kind::kAtomic);
  EXPECT_EQ(message.number, 33u);
  EXPECT_EQ(message.operation, Op::Kind::kFetchAdd);
  EXPECT_EQ(message.segment, Segment::Kind::kControl);
  EXPECT_TRUE(message.wakes);
  EXPECT_EQ(message.length, 8u);
  EXPECT_EQ(message.offset, 64u);
  EXPECT_EQ(message.operand, 2u);
  EXPECT_EQ(request->next, nullptr);
}

TEST_F(WorkChainTest, AsMessagesAnAtomicIsOneRequestAndANotificationAlone) {
  const Dialect dialect = {.messages = true};
  WorkChain chain = Chain(dialect);
  chain.Add({.kind = Op::Kind::kXor,
             .fenced = true,
             .region = &region_,
             .offset = 12,
             .length = 4,
             .operand = 7},
            17);
  Op op = Put(0);
  op.ride = Ride::kCounter;
  op.operand = 42;
  ASSERT_EQ(WorkChain::RequestsOf(op, dialect), 1u);
  chain.Add(op);
  const ibv_send_wr* request = chain.Close();
  EXPECT_TRUE(request->send_flags & IBV_SEND_FENCE) << "behind earlier READs";
  const Message atomic = Sent(*request);
  EXPECT_EQ(atomic.operation, Op::Kind::kXor);
  EXPECT_EQ(atomic.length, 4u);
  EXPECT_EQ(atomic.offset, 12u);
  EXPECT_FALSE(atomic.wakes);
  request = request->next;
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->opcode, IBV_WR_SEND);
  EXPECT_FALSE(request->send_flags & IBV_SEND_FENCE);
  EXPECT_EQ(Sent(*request).kind, Message::Kind::kCount);
  EXPECT_EQ(Sent(*request).number, 42u);
}

TEST_F(WorkChainTest, WhatProvesIsAReadBehindAllThatIsNotAnswered) {
  WorkChain chain = Chain({.proves = true});
  chain.Add(Put(8));
  ASSERT_TRUE(chain.Prove());
  const ibv_send_wr* const proof = chain.Close()->next;
  ASSERT_NE(proof, nullptr);
  EXPECT_EQ(proof->opcode, IBV_WR_RDMA_READ);
  EXPECT_EQ(proof->wr.rdma.remote_addr, 0x20000u);
  EXPECT_EQ(proof->wr.rdma.rkey, 6u);
  EXPECT_EQ(proof->sg_list->length, 8u) << "one of no bytes touches no memory";
  EXPECT_TRUE(proof->send_flags & IBV_SEND_SIGNALED);

  WorkChain read = Chain({.proves = true});
  Op get = Put(8);
  get.kind = Op::Kind::kGet;
  read.Add(get);
  EXPECT_FALSE(read.Prove());

  chain_.Add(Put(8));
  EXPECT_FALSE(chain_.Prove()) << "the dialect does not ask for it";
}

TEST_F(WorkChainTest, WhereTheTransportWaitsNothingIsFencedByTheDevice) {
  WorkChain chain = Chain({.waits_to_fence = true});
  Op get = Put(8);
  get.kind = Op::Kind::kGet;
  get.fenced = true;
  chain.Add(get);
  EXPECT_FALSE(chain.Close()->send_flags & IBV_SEND_FENCE);
}

}  // namespace
}  // namespace weft
