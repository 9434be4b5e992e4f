// The job's side of the bootstrap, without ranks, hosts or sockets.
#include "runtime/authority/job_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Type = WireMessage::Type;

class Nodes final : public JobNodes {
 public:
  void Answer(Rank to, const WireMessage& answer) override { answers[to].push_back(answer); }
  void MakeMemory(const MemoryShape& shape) override {
    said.push_back(absl::StrCat("make ", shape.slab_bytes, " ", shape.local_bytes));
  }
  void Publish(Rank rank, MemberState state, int wait_status) override {
    said.push_back(
        absl::StrCat(state == MemberState::kLeft ? "left " : "dead ", rank, " ", wait_status));
  }
  void Propose(uint32_t proposal) override { said.push_back(absl::StrCat("propose ", proposal)); }
  void Announce(uint32_t epoch) override { said.push_back(absl::StrCat("announce ", epoch)); }
  void Kill(Rank rank, std::string_view why) override {
    said.push_back(absl::StrCat("kill ", rank, ": ", std::string(why)));
  }
  // What the rank was answered last; once.
  WireMessage Last(Rank rank) {
    if (answers[rank].empty()) return {.type = Type::kJoin};
    const WireMessage last = answers[rank].back();
    answers[rank].clear();
    return last;
  }
  bool NoAnswer(Rank rank) { return answers[rank].empty(); }

  std::map<Rank, std::vector<WireMessage>> answers;
  std::vector<std::string> said;
};

class JobServerTest : public testing::Test {
 protected:
  JobServerTest() : server(3, /*nodes=*/2, /*memories=*/2, nodes) {
    for (Rank rank = 0; rank < 3; ++rank) {
      server.Request(rank, {.type = Type::kJoin, .id = 1});
      const WireMessage welcome = nodes.Last(rank);
      EXPECT_EQ(welcome.type, Type::kWelcome);
      EXPECT_EQ(welcome.first, rank);
      EXPECT_EQ(welcome.second, 3u);
      secrets.push_back(welcome.value);
    }
  }
  void All(Type type, uint64_t first = 0) {
    for (Rank rank = 0; rank < 3; ++rank) {
      server.Request(rank, {.type = type, .id = 2, .first = first});
    }
  }
  absl::Status StatusOf(Rank rank) {
    const WireMessage answer = nodes.Last(rank);
    EXPECT_EQ(answer.type, Type::kStatus);
    return StatusFromWire(answer);
  }

  Nodes nodes;
  JobServer server;
  std::vector<std::string> secrets;
};

TEST_F(JobServerTest, AllRanksGetTheSameSecret) {
  EXPECT_EQ(secrets[0].size(), 32u);
  EXPECT_EQ(secrets[0], secrets[1]);
  EXPECT_EQ(secrets[0], secrets[2]);
}

TEST_F(JobServerTest, KeysArePutOnceAndFound) {
  server.Request(0, {.type = Type::kPut, .id = 2, .text = "k", .value = "v"});
  EXPECT_TRUE(StatusOf(0).ok());
  server.Request(2, {.type = Type::kPut, .id = 2, .text = "k", .value = "w"});
  EXPECT_EQ(StatusOf(2).code(), absl::StatusCode::kAlreadyExists);
  server.Request(2, {.type = Type::kGet, .id = 3, .text = "k"});
  EXPECT_EQ(nodes.Last(2).value, "v");
  server.Request(1, {.type = Type::kGet, .id = 3, .text = "none"});
  EXPECT_EQ(StatusOf(1).code(), absl::StatusCode::kNotFound);
}

TEST_F(JobServerTest, AFenceWaitsForAll) {
  server.Request(0, {.type = Type::kFence, .id = 2});
  server.Request(1, {.type = Type::kFence, .id = 2});
  server.Request(0, {.type = Type::kMissing, .id = 3});
  EXPECT_EQ(nodes.Last(0).value, "waiting for rank 2");
  EXPECT_TRUE(nodes.NoAnswer(1));
  server.Request(2, {.type = Type::kFence, .id = 2});
  for (Rank rank = 0; rank < 3; ++rank) EXPECT_TRUE(StatusOf(rank).ok());
}

TEST_F(JobServerTest, MemoryIsAnsweredWhenAllNodesHaveMadeIt) {
  All(Type::kShareMemory, 4096);
  EXPECT_THAT(nodes.said, ElementsAre("make 4096 0"));
  server.ReportMemory(absl::OkStatus());
  EXPECT_TRUE(nodes.NoAnswer(0));
  server.ReportMemory(absl::OkStatus());
  for (Rank rank = 0; rank < 3; ++rank) {
    const WireMessage answer = nodes.Last(rank);
    EXPECT_EQ(answer.type, Type::kMemory);
    EXPECT_EQ(answer.first, 2u);
  }
  All(Type::kShareMemory, 4096);
  EXPECT_EQ(StatusOf(1).code(), absl::StatusCode::kFailedPrecondition) << "a second time";
}

TEST_F(JobServerTest, OneNodeWithoutMemoryIsEverybodysError) {
  All(Type::kShareMemory, 4096);
  server.ReportMemory(absl::ResourceExhaustedError("on b: too little"));
  server.ReportMemory(absl::OkStatus());
  for (Rank rank = 0; rank < 3; ++rank) {
    const absl::Status status = StatusOf(rank);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(status.message()), HasSubstr("on b"));
  }
}

TEST_F(JobServerTest, ShapesThatDifferAreNamedBeforeAnyMemoryIsMade) {
  server.Request(0, {.type = Type::kShareMemory, .id = 2, .first = 4096});
  server.Request(1, {.type = Type::kShareMemory, .id = 2, .first = 4096});
  server.Request(2, {.type = Type::kShareMemory, .id = 2, .first = 8192});
  EXPECT_THAT(nodes.said, IsEmpty());
  EXPECT_THAT(std::string(StatusOf(0).message()), HasSubstr("rank 2 asked for a slab of 8192"));
}

TEST_F(JobServerTest, ADeathWhileMemoryIsMadeEndsTheCall) {
  All(Type::kShareMemory, 4096);
  server.ReportMemory(absl::OkStatus());
  server.ReportDeath(1, 9, "was killed");
  EXPECT_THAT(nodes.said, ElementsAre("make 4096 0", "dead 1 9"));
  for (Rank rank : {0, 2}) {
    EXPECT_EQ(StatusOf(rank), absl::UnavailableError("rank 1 was killed"));
  }
  server.ReportMemory(absl::OkStatus());
  EXPECT_TRUE(nodes.NoAnswer(0)) << "an answer that nobody waits for any more";
  server.Request(0, {.type = Type::kFence, .id = 5});
  EXPECT_EQ(StatusOf(0).code(), absl::StatusCode::kUnavailable);
}

TEST_F(JobServerTest, DeathsAndLeavesArePublishedOnceInOneOrder) {
  server.Request(2, {.type = Type::kLeave, .id = 2});
  server.ReportDeath(0, 9, "was killed");
  server.ReportDeath(0, 9, "was killed");
  server.ReportDeath(2, -1, "was on a host that is lost");
  EXPECT_THAT(nodes.said, ElementsAre("left 2 0", "dead 0 9"));
  EXPECT_FALSE(server.Runs(0) || server.Runs(2));
  EXPECT_TRUE(server.Runs(1));
}

}  // namespace
}  // namespace weft
