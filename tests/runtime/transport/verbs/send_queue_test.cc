// The sending side of a queue pair: what ends with a request is told once, in order, whatever
// the counts are.
#include "runtime/transport/verbs/send_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

constexpr uint32_t kDepth = 64;

class SendQueueTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  // Positions begin there, and wrap.
  void SetUp() override {
    if (GetParam() == 0) return;
    queue_.Push(GetParam());
    ASSERT_EQ(queue_.Advance(GetParam() - 1), GetParam());
  }
  uint32_t At(uint32_t position) const { return GetParam() + position; }
  std::vector<uint64_t> Ended() {
    std::vector<uint64_t> tokens;
    while (const SendQueue::Mark* mark = queue_.Ended()) tokens.push_back(mark->token);
    return tokens;
  }

  using Tokens = std::vector<uint64_t>;
  SendQueue queue_{kDepth};
};

TEST_P(SendQueueTest, ACompletionEndsAllUpToIt) {
  queue_.PushMarked(1, 0);
  queue_.Push(2);
  queue_.PushMarked(2, 0);
  queue_.PushMarked(3, 0);
  EXPECT_EQ(queue_.next(), At(5));
  EXPECT_EQ(queue_.room(), kDepth - 5);
  EXPECT_EQ(Ended(), Tokens());
  EXPECT_EQ(queue_.Advance(At(2)), 3u);
  EXPECT_EQ(Ended(), Tokens{1});
  EXPECT_EQ(queue_.Advance(At(4)), 2u);
  EXPECT_EQ(Ended(), (Tokens{2, 3}));
  EXPECT_EQ(queue_.room(), kDepth);
}

TEST_P(SendQueueTest, ACompletionOfAFormerPairIsNothing) {
  queue_.PushMarked(1, 0);
  EXPECT_EQ(queue_.Advance(At(1)), 0u);
  EXPECT_EQ(queue_.Advance(At(0) - 1), 0u);
  EXPECT_EQ(Ended(), Tokens());
  EXPECT_EQ(queue_.Advance(At(0)), 1u);
  EXPECT_EQ(queue_.Advance(At(0)), 0u);
  EXPECT_EQ(Ended(), Tokens{1});
}

TEST_P(SendQueueTest, WhatIsRefusedEndsAloneAndItsPlacesAreFree) {
  queue_.PushMarked(1, 0);
  queue_.PushMarked(2, 0);
  queue_.Push(1);
  queue_.PushMarked(3, 0);
  Tokens refused;
  queue_.Refuse(3, [&](const SendQueue::Mark& mark) { refused.push_back(mark.token); });
  EXPECT_EQ(refused, (Tokens{2, 3}));
  EXPECT_EQ(queue_.next(), At(1));
  queue_.PushMarked(4, 0);
  EXPECT_EQ(queue_.Advance(At(1)), 2u);
  EXPECT_EQ(Ended(), (Tokens{1, 4}));
}

TEST_P(SendQueueTest, DestroyingEndsAllThatIsUnderWay) {
  queue_.PushMarked(1, 0);
  queue_.Push(1);
  queue_.PushMarked(2, 0);
  queue_.Destroy();
  EXPECT_EQ(Ended(), (Tokens{1, 2}));
  EXPECT_EQ(queue_.room(), kDepth);
  EXPECT_EQ(queue_.Advance(At(2)), 0u);
}

TEST_P(SendQueueTest, EachPlaceMayHaveAMarkForEver) {
  uint64_t token = 0, ended = 0;
  for (uint32_t round = 0; round < 10; ++round) {
    while (queue_.room() > 0) queue_.PushMarked(++token, 0);
    ASSERT_EQ(queue_.Advance(queue_.next() - 1), kDepth);
    for (const uint64_t told : Ended()) ASSERT_EQ(told, ++ended);
  }
  EXPECT_EQ(ended, token);
}

INSTANTIATE_TEST_SUITE_P(All, SendQueueTest, ::testing::Values(0, 0x7ffffffe, 0xfffffffe));

}  // namespace
}  // namespace weft
