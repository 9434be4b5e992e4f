// What a peer's request does to this rank's memory, and what it may not.
#include "runtime/transport/verbs/agent.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/test_node.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 4096;

class AgentTest : public ::testing::Test {
 protected:
  TestNode test_node_{2, kSlabBytes};
  const NodeView node_ = test_node_.view(1);

  static Message Request(Op::Kind operation, uint64_t offset, uint64_t operand) {
    return {.kind = Message::Kind::kAtomic,
            .number = 77,
            .operation = operation,
            .length = 8,
            .offset = offset,
            .operand = operand};
  }
  uint64_t Word(uint64_t offset) const {
    uint64_t word;
    std::memcpy(&word, node_.slab(1) + offset, sizeof(word));
    return word;
  }
};

TEST_F(AgentTest, AnAtomicIsCarriedOutOnItsOwnersSlab) {
  EXPECT_EQ(CarryOut(Request(Op::Kind::kFetchAdd, 8, 5), node_).operand, 0u);
  const Message reply = CarryOut(Request(Op::Kind::kFetchAdd, 8, 6), node_);
  EXPECT_EQ(reply.kind, Message::Kind::kReply);
  EXPECT_EQ(reply.number, 77u);
  EXPECT_EQ(reply.result, Event::Result::kOk);
  EXPECT_EQ(reply.operand, 5u);
  EXPECT_EQ(Word(8), 11u);
}

TEST_F(AgentTest, EachKindDoesWhatItsNameSays) {
  CarryOut(Request(Op::Kind::kSet, 0, 0xf0), node_);
  CarryOut(Request(Op::Kind::kAnd, 0, 0x30), node_);
  CarryOut(Request(Op::Kind::kOr, 0, 0x01), node_);
  CarryOut(Request(Op::Kind::kXor, 0, 0x11), node_);
  EXPECT_EQ(Word(0), 0x20u);
  EXPECT_EQ(CarryOut(Request(Op::Kind::kFetch, 0, 9), node_).operand, 0x20u);
  EXPECT_EQ(CarryOut(Request(Op::Kind::kSwap, 0, 9), node_).operand, 0x20u);
  Message swap = Request(Op::Kind::kCompareSwap, 0, 10);
  swap.compare = 8;
  EXPECT_EQ(CarryOut(swap, node_).operand, 9u);
  EXPECT_EQ(Word(0), 9u);
  swap.compare = 9;
  EXPECT_EQ(CarryOut(swap, node_).operand, 9u);
  EXPECT_EQ(Word(0), 10u);
}

TEST_F(AgentTest, FourBytesLeaveTheirNeighboursAlone) {
  CarryOut(Request(Op::Kind::kSet, 0, ~uint64_t{0}), node_);
  Message add = Request(Op::Kind::kFetchAdd, 4, 1);
  add.length = 4;
  EXPECT_EQ(CarryOut(add, node_).operand, 0xffffffffu);
  EXPECT_EQ(Word(0), 0xffffffffu);
}

TEST_F(AgentTest, TheControlRegionIsReachedByItsOwnName) {
  Message add = Request(Op::Kind::kFetchAdd, offsetof(ControlRegion, counters), 3);
  add.segment = Segment::Kind::kControl;
  EXPECT_EQ(CarryOut(add, node_).result, Event::Result::kOk);
  EXPECT_EQ(node_.control(1).counters[0].arrivals, 3u);
}

TEST_F(AgentTest, WhatLiesOutsideOrIsNotAlignedTouchesNothing) {
  for (uint64_t offset : {kSlabBytes, kSlabBytes - 4, uint64_t{4}, uint64_t{0} - 8}) {
    EXPECT_EQ(CarryOut(Request(Op::Kind::kFetchAdd, offset, 1), node_).result,
              Event::Result::kBadAddress)
        << offset;
  }
  Message beyond = Request(Op::Kind::kFetchAdd, kControlBytes, 1);
  beyond.segment = Segment::Kind::kControl;
  EXPECT_EQ(CarryOut(beyond, node_).result, Event::Result::kBadAddress);
  EXPECT_EQ(Word(0), 0u);
}

}  // namespace
}  // namespace weft
