// A request to a peer's agent ends once, whatever comes first, or never comes.
#include "runtime/transport/verbs/requests.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weft {
namespace {

using Result = Event::Result;

class RequestsTest : public ::testing::Test {
 protected:
  Requests requests_;
  std::vector<std::pair<uint64_t, Result>> ended_;

  void Sent(uint32_t number, Result result = Result::kOk) {
    requests_.OnSent(number, result, Note());
  }
  void Reply(uint32_t number, uint64_t old, Result result = Result::kOk) {
    requests_.OnReply(number, result, old, Note());
  }
  void EndLane(Lane lane) { requests_.EndLane(lane, Note()); }
  std::vector<std::pair<uint64_t, Result>> Ended() { return std::exchange(ended_, {}); }
  using Ends = std::vector<std::pair<uint64_t, Result>>;

 private:
  struct Noter {
    std::vector<std::pair<uint64_t, Result>>* ended;
    void operator()(uint64_t token, Result result) const { ended->emplace_back(token, result); }
  };
  const Noter& Note() { return noter_; }
  const Noter noter_{&ended_};
};

TEST_F(RequestsTest, ItEndsWithItsReplyWhichIsTheOldValue) {
  uint32_t old = 0;
  const uint32_t number = requests_.Begin(Lane::kSmall, 5, &old, sizeof(old));
  Sent(number);
  EXPECT_EQ(Ended(), Ends{});
  EXPECT_EQ(requests_.under_way(), 1u);
  Reply(number, 0x1122334455);
  EXPECT_EQ(Ended(), (Ends{{5, Result::kOk}}));
  EXPECT_EQ(old, 0x22334455u);
  EXPECT_EQ(requests_.under_way(), 0u);
}

TEST_F(RequestsTest, AReplyThatComesFirstWaitsForTheDeviceToHaveSent) {
  const uint32_t number = requests_.Begin(Lane::kSmall, 5, nullptr, 8);
  Reply(number, 0, Result::kBadAddress);
  EXPECT_EQ(Ended(), Ends{});
  Sent(number);
  EXPECT_EQ(Ended(), (Ends{{5, Result::kBadAddress}}));
  Sent(number);
  Reply(number, 0);
  EXPECT_EQ(Ended(), Ends{}) << "once";
}

TEST_F(RequestsTest, WhatWasNotSentIsInDoubtUnlessItWasAnswered) {
  const uint32_t lost = requests_.Begin(Lane::kSmall, 1, nullptr, 8);
  const uint32_t answered = requests_.Begin(Lane::kSmall, 2, nullptr, 8);
  Reply(answered, 0);
  Sent(lost, Result::kPeerDown);
  Sent(answered, Result::kPeerDown);
  EXPECT_EQ(Ended(), (Ends{{1, Result::kPeerDown}, {2, Result::kOk}}));
  EndLane(Lane::kSmall);
  EXPECT_EQ(Ended(), Ends{});
}

TEST_F(RequestsTest, ALaneThatEndsTouchesNoMemoryAnyMoreAndLeavesTheOtherAlone) {
  uint64_t old = 42;
  const uint32_t bulk = requests_.Begin(Lane::kBulk, 1, &old, sizeof(old));
  const uint32_t small = requests_.Begin(Lane::kSmall, 2, nullptr, 8);
  Sent(bulk);
  Sent(small);
  EndLane(Lane::kBulk);
  EXPECT_EQ(Ended(), (Ends{{1, Result::kPeerDown}}));
  Reply(bulk, 7);
  EXPECT_EQ(old, 42u);
  Reply(small, 7);
  EXPECT_EQ(Ended(), (Ends{{2, Result::kOk}}));
}

TEST_F(RequestsTest, PlacesStayTakenWhileRepliesMayCome) {
  while (!requests_.full()) Sent(requests_.Begin(Lane::kBulk, 1, nullptr, 8));
  EndLane(Lane::kBulk);
  EXPECT_EQ(Ended().size(), Requests::kMost);
  EXPECT_EQ(requests_.under_way(), 0u);
  EXPECT_TRUE(requests_.full());
  requests_.Forget(Lane::kBulk);
  EXPECT_FALSE(requests_.full());
}

TEST_F(RequestsTest, ALateOrWildReplyIsNobodys) {
  const uint32_t former = requests_.Begin(Lane::kBulk, 1, nullptr, 8);
  EndLane(Lane::kBulk);
  requests_.Forget(Lane::kBulk);
  Ended();
  uint64_t old = 42;
  const uint32_t number = requests_.Begin(Lane::kSmall, 2, &old, sizeof(old));
  Sent(number);
  EXPECT_EQ(former % Requests::kMost, number % Requests::kMost) << "the same place";
  for (uint32_t wild : {former, uint32_t{0}, number + 1, ~uint32_t{0}}) Reply(wild, 7);
  EXPECT_EQ(Ended(), Ends{});
  EXPECT_EQ(old, 42u);
}

}  // namespace
}  // namespace weft
