// Which of the things that happen on several hosts decides, and who hears of it.
#include "tools/weftrun/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/weftrun/exit_status.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using Type = Frame::Type;

class FleetTest : public testing::Test {
 protected:
  // Ranks 0 and 2 on a, 1 and 3 on b.
  Fleet fleet{NodeMap({0, 1, 0, 1}),
              {"a", "b"},
              {.has_authority = true},
              {.send = [this](uint32_t host, const Frame& frame) { sent[host].push_back(frame); },
               .say = [](const std::string&) {}}};
  std::vector<Frame> sent[2];

  std::vector<Frame> Sent(uint32_t host, Type type) const {
    std::vector<Frame> found;
    for (const Frame& frame : sent[host]) {
      if (frame.type == type) found.push_back(frame);
    }
    return found;
  }
};

TEST_F(FleetTest, EndsWellWhenAllHostsDo) {
  fleet.Receive(0, {.type = Type::kVerdict});
  EXPECT_FALSE(fleet.over());
  fleet.Receive(1, {.type = Type::kVerdict});
  EXPECT_TRUE(fleet.over());
  EXPECT_EQ(fleet.code(), 0);
  EXPECT_EQ(fleet.line(), "");
}

TEST_F(FleetTest, TheFirstFailureDecidesAndTheOthersHearOfIt) {
  fleet.Receive(1, {.type = Type::kFailed, .number = 7, .text = "rank 3 exited"});
  EXPECT_EQ(Sent(0, Type::kFailed).size(), 1u);
  EXPECT_EQ(Sent(1, Type::kFailed).size(), 0u);
  fleet.Receive(0, {.type = Type::kFailed, .number = 1, .text = "rank 0 exited"});
  EXPECT_EQ(Sent(1, Type::kFailed).size(), 0u);
  fleet.Receive(0, {.type = Type::kVerdict, .number = 1, .text = "rank 0 exited"});
  // The deciding host's last word may say more.
  fleet.Receive(1, {.type = Type::kVerdict, .number = 139, .text = "rank 3 was killed"});
  EXPECT_EQ(fleet.code(), 139);
  EXPECT_EQ(fleet.line(), "rank 3 was killed");
}

TEST_F(FleetTest, ALostHostsRanksAreDeadForTheOthers) {
  fleet.Receive(1, {.type = Type::kEndedUnjoined, .rank = 1});
  fleet.Lose(1, "nothing has been heard from it for 3 s");
  const auto published = Sent(0, Type::kPublish);
  ASSERT_EQ(published.size(), 1u) << "rank 1 had ended before";
  EXPECT_EQ(published[0].rank, 3u);
  EXPECT_EQ(published[0].number, -1);
  EXPECT_EQ(published[0].first, static_cast<uint64_t>(MemberState::kDead));
  EXPECT_EQ(Sent(0, Type::kFailed).size(), 1u);
  EXPECT_EQ(fleet.code(), kExitLauncher);
  EXPECT_THAT(fleet.line(), HasSubstr("host b is lost, and rank 3 with it"));
  EXPECT_FALSE(fleet.over());
  fleet.Receive(0, {.type = Type::kVerdict, .number = 125});
  EXPECT_TRUE(fleet.over());
}

TEST_F(FleetTest, AHostThatIsLostAfterItsVerdictIsNoNews) {
  fleet.Receive(1, {.type = Type::kVerdict});
  fleet.Lose(1, "the connection has ended");
  EXPECT_EQ(fleet.code(), 0);
  EXPECT_EQ(Sent(0, Type::kFailed).size(), 0u);
}

TEST_F(FleetTest, RequestsGoUpAndAnswersDownToTheRanksHost) {
  fleet.Receive(1, {.type = Type::kRequest,
                    .rank = 3,
                    .data = EncodeWire({.type = WireMessage::Type::kJoin, .id = 9})});
  const auto answers = Sent(1, Type::kAnswer);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].rank, 3u);
  EXPECT_EQ(DecodeWire(answers[0].data)->type, WireMessage::Type::kWelcome);
  EXPECT_TRUE(sent[0].empty());
  // What no guard sends changes nothing.
  fleet.Receive(1, {.type = Type::kRequest, .rank = 3, .data = "noise"});
  fleet.Receive(1, {.type = Type::kDeath, .rank = 4, .number = 9});
  EXPECT_TRUE(sent[0].empty());
}

TEST_F(FleetTest, MemoryThatAHostCannotMakeNamesIt) {
  for (Rank rank = 0; rank < 4; ++rank) {
    const uint32_t host = rank % 2;
    fleet.Receive(host, {.type = Type::kRequest,
                         .rank = rank,
                         .data = EncodeWire({.type = WireMessage::Type::kJoin, .id = 1})});
    fleet.Receive(
        host,
        {.type = Type::kRequest,
         .rank = rank,
         .data = EncodeWire({.type = WireMessage::Type::kShareMemory, .id = 2, .first = 4096})});
  }
  EXPECT_EQ(Sent(0, Type::kMakeMemory).size(), 1u);
  EXPECT_EQ(Sent(1, Type::kMakeMemory).size(), 1u);
  fleet.Receive(0, {.type = Type::kMemoryMade});
  fleet.Receive(1, {.type = Type::kMemoryMade,
                    .number = static_cast<int>(absl::StatusCode::kResourceExhausted),
                    .text = "too little"});
  const auto answer = DecodeWire(Sent(0, Type::kAnswer).back().data);
  EXPECT_THAT(std::string(StatusFromWire(*answer).message()), HasSubstr("on b: too little"));
}

TEST_F(FleetTest, ATimeoutNamesWhoRan) {
  fleet.Receive(0, {.type = Type::kEndedUnjoined, .rank = 2});
  fleet.TimeOut(absl::Seconds(2));
  EXPECT_EQ(fleet.code(), kExitTimeout);
  EXPECT_THAT(fleet.line(), HasSubstr("within 2 s (--timeout): rank 0 on a, ranks 1, 3 on b"));
  EXPECT_EQ(Sent(0, Type::kCutShort).size(), 1u);
  EXPECT_EQ(Sent(1, Type::kCutShort).size(), 1u);
}

}  // namespace
}  // namespace weft
