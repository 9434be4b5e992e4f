// How operations are said in work requests.
#include "runtime/transport/verbs/work_chain.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

class WorkChainTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kOwner = 7;
  static constexpr uint32_t kFirst = 0xffffffff;  // Positions wrap.

  const RemoteRegion region_ = {.mapped = nullptr, .base = 0x10000, .key = 5, .length = 0x1000};
  uint64_t local_ = 1;
  uint64_t scratch_ = 0;
  WorkChain chain_{kOwner, kFirst, 64, {.at = &scratch_, .key = 9}};

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
  ASSERT_EQ(WorkChain::RequestsOf(op), 1u);
  chain_.Add(op);
  const ibv_send_wr* const request = chain_.Close();
  EXPECT_EQ(request->opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
  const Immediate immediate = Immediate::Decode(ntohl(request->imm_data));
  EXPECT_EQ(immediate.kind, Immediate::Kind::kCount);
  EXPECT_EQ(immediate.value, 42u);
}

TEST_F(WorkChainTest, SignalsFollowTheDataAndWake) {
  Op op = Put(8);
  op.ride = Ride::kAddSignal;
  op.operand = 2;
  op.compare = 64;
  ASSERT_EQ(WorkChain::RequestsOf(op), 3u);
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
  EXPECT_EQ(Immediate::Decode(ntohl(request->imm_data)).kind, Immediate::Kind::kWake);
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
    ASSERT_EQ(chain_.size() - before, WorkChain::RequestsOf(op));
  }
  EXPECT_EQ(chain_.size(), WorkChain::kMaxRequests);
}

}  // namespace
}  // namespace weft
