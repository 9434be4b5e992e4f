// Collective calls: what all agree on, and that a mismatch is told to everybody.
#include "runtime/sync/agreement.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "runtime/sync/job_rendezvous.h"
#include "runtime/sync/node_rendezvous.h"
#include "tests/runtime/sync/engine_node.h"
#include "tests/runtime/sync/shared_node.h"

namespace weft {
namespace {

const Deadline kExpired = Deadline::AtMonotonicNanos(0);

CollectiveCall CreateSymmetric(uint64_t bytes, uint64_t alignment) {
  return {.kind = CollectiveKind::kCreateSymmetric, .arguments = {bytes, alignment}};
}
constexpr CollectiveCall kCreateCounter = {.kind = CollectiveKind::kCreateCounter};

// Ranks that share memory, or that only send each other messages.
enum class By { kNode, kMessages };

class AgreementTest : public ::testing::TestWithParam<By> {
 protected:
  // All make the call, in the order of ranks; those that are late make it again.
  template <typename Call>
  std::vector<absl::Status> CallAll(Call call) {
    std::vector<absl::Status> statuses(kSize, absl::DeadlineExceededError("not called yet"));
    for (int i = 0; std::ranges::any_of(statuses, absl::IsDeadlineExceeded); ++i) {
      EXPECT_LT(i, 10) << "late for ever";
      if (i == 10) return statuses;
      for (size_t r = 0; r < kSize; ++r) {
        if (absl::IsDeadlineExceeded(statuses[r])) statuses[r] = call(*ranks_[r], r);
        if (i == 0 && r + 1 < kSize) {
          EXPECT_EQ(statuses[r].code(), absl::StatusCode::kDeadlineExceeded);
        }
      }
    }
    return statuses;
  }

  std::unique_ptr<Rendezvous> MakeRendezvous(Rank r) {
    if (GetParam() == By::kNode) return std::make_unique<NodeRendezvous>(node_.view(r), Progress{});
    return std::make_unique<JobRendezvous>(node_.view(r), engines_.engine(r), Progress{});
  }

  static constexpr Rank kSize = 3;
  EngineNode engines_{kSize};
  SharedNode& node_ = engines_.node();
  std::vector<std::unique_ptr<Agreement>> ranks_ = [this] {
    std::vector<std::unique_ptr<Agreement>> ranks;
    for (Rank r = 0; r < kSize; ++r) {
      ranks.push_back(std::make_unique<Agreement>(MakeRendezvous(r), r));
    }
    return ranks;
  }();
};

INSTANTIATE_TEST_SUITE_P(Both, AgreementTest, ::testing::Values(By::kNode, By::kMessages));

// What only ranks that share memory do: there the last that arrives completes at once.
using NodeAgreementTest = AgreementTest;
INSTANTIATE_TEST_SUITE_P(Node, NodeAgreementTest, ::testing::Values(By::kNode));

TEST_P(AgreementTest, EqualCallsAgreeOnTheAndAndTheOrOfTheBitmaps) {
  const std::vector<std::vector<uint64_t>> bitmaps = {{0b1101, 7}, {0b0111}, {0b0101, 1}};
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto statuses = CallAll([&](Agreement& agreement, size_t r) {
      const auto result = agreement.Agree(CreateSymmetric(64, 8), bitmaps[r], kExpired);
      if (result.ok()) {
        EXPECT_EQ(result->all[0], 0b0101u);
        EXPECT_EQ(result->any[0], 0b1111u);
        EXPECT_EQ(result->all[1], 0u);
        EXPECT_EQ(result->any[1], 7u);
        EXPECT_EQ(result->any[63], 0u);
      }
      return result.status();
    });
    for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_P(AgreementTest, ABitmapOfAnEarlierCallIsForgotten) {
  for (const uint64_t word : {~uint64_t{0}, uint64_t{0}}) {
    const std::vector<uint64_t> bitmap(word == 0 ? 0 : 64, word);
    for (int slot = 0; slot < 2; ++slot) {
      CallAll([&](Agreement& agreement, size_t) {
        const auto result = agreement.Agree(kCreateCounter, bitmap, kExpired);
        if (result.ok()) {
          EXPECT_EQ(result->any[63], word);
        }
        return result.status();
      });
    }
  }
}

TEST_P(AgreementTest, OtherArgumentsAreToldToAllAlike) {
  const auto statuses = CallAll([&](Agreement& agreement, size_t r) {
    return agreement.Agree(CreateSymmetric(r == 2 ? 128 : 64, 8), {}, kExpired).status();
  });
  for (const absl::Status& status : statuses) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(),
              "collective calls do not match: rank 2 called Symmetric::Create(128, 8), rank 0 "
              "called Symmetric::Create(64, 8); all ranks must make the same collective calls in "
              "the same order");
  }
}

TEST_P(AgreementTest, ABarrierThatMeetsAnotherCallFailsEverywhere) {
  for (size_t odd = 0; odd < kSize; ++odd) {
    const auto statuses = CallAll([&](Agreement& agreement, size_t r) {
      return r == odd ? agreement.Agree(kCreateCounter, {}, kExpired).status()
                      : agreement.Barrier(kExpired);
    });
    for (const absl::Status& status : statuses) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(status.message(), statuses[0].message());
      EXPECT_NE(status.message().find("NotificationCounter::Create()"), std::string::npos);
    }
    // The ranks are in step all the same.
    for (const absl::Status& status :
         CallAll([](Agreement&agreement, size_t) { return agreement.Barrier(kExpired); })) {
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

// The others are one call ahead when the slow rank looks at what was called.
TEST_P(NodeAgreementTest, ASlowRankStillSeesTheMismatch) {
  EXPECT_FALSE(ranks_[0]->Barrier(kExpired).ok());
  EXPECT_FALSE(ranks_[1]->Agree(kCreateCounter, {}, kExpired).ok());
  EXPECT_EQ(ranks_[2]->Barrier(kExpired).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ranks_[1]->Agree(kCreateCounter, {}, kExpired).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(ranks_[1]->Agree(CreateSymmetric(1, 1), {}, kExpired).ok());
  EXPECT_FALSE(ranks_[2]->Agree(CreateSymmetric(1, 1), {}, kExpired).ok());
  EXPECT_EQ(ranks_[0]->Barrier(kExpired).code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(AgreementTest, AnotherCallInPlaceOfALateOneIsRefused) {
  EXPECT_EQ(ranks_[0]->Barrier(kExpired).code(), absl::StatusCode::kDeadlineExceeded);
  const absl::Status status = ranks_[0]->Agree(kCreateCounter, {}, kExpired).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("earlier Barrier()"), std::string::npos) << status;
  for (const absl::Status& met :
       CallAll([](Agreement&agreement, size_t) { return agreement.Barrier(kExpired); })) {
    EXPECT_TRUE(met.ok()) << met;
  }
}

// Also where the call that the death ended would complete after all: a rank that
// was told so is not told otherwise later.
TEST_P(AgreementTest, AfterADeathNoCallIsTried) {
  EXPECT_EQ(ranks_[2]->Barrier(kExpired).code(), absl::StatusCode::kDeadlineExceeded);
  node_.MarkDead(2, SIGKILL);
  const absl::Status told = ranks_[0]->Barrier(Deadline());
  EXPECT_EQ(told.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(told.message().find("rank 2 died"), std::string::npos) << told;
  EXPECT_EQ(ranks_[1]->Barrier(Deadline()).ok(), GetParam() == By::kNode);
  for (Agreement* agreement : {ranks_[0].get(), ranks_[1].get()}) {
    EXPECT_EQ(agreement->Barrier(Deadline()).code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(agreement->Agree(kCreateCounter, {}, Deadline()).status().code(),
              absl::StatusCode::kUnavailable);
  }
}

TEST_P(AgreementTest, ASecondThreadIsRefused) {
  std::thread first([&] { EXPECT_TRUE(ranks_[0]->Barrier(Deadline()).ok()); });
  ControlRegion& control = node_.view(0).control(0);
  auto& bell = GetParam() == By::kNode ? control.barrier.doorbell : control.doorbell;
  while (bell.state.load() == 0) std::this_thread::yield();  // It sleeps in the call.
  EXPECT_EQ(ranks_[0]->Barrier(Deadline()).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(ranks_[1]->Barrier(kExpired).ok());
  absl::Status last;
  do last = ranks_[2]->Barrier(kExpired);
  while (absl::IsDeadlineExceeded(last));
  EXPECT_TRUE(last.ok()) << last;
  first.join();
}

TEST_P(NodeAgreementTest, OverwrittenEntriesAreAnErrorAndNothingWorse) {
  for (uint64_t junk : {uint64_t{0}, ~uint64_t{0}}) {
    EXPECT_FALSE(ranks_[0]->Agree(kCreateCounter, {}, kExpired).ok());
    EXPECT_FALSE(ranks_[1]->Agree(kCreateCounter, {}, kExpired).ok());
    for (CollectiveEntry& entry : node_.view(0).control(1).entries) {
      entry.kind = junk;
      entry.arguments[0] = junk;
    }
    EXPECT_EQ(ranks_[2]->Agree(kCreateCounter, {}, kExpired).status().code(),
              absl::StatusCode::kInvalidArgument);
    for (CollectiveEntry& entry : node_.view(0).control(1).entries) entry.generation = junk;
    EXPECT_EQ(ranks_[0]->Agree(kCreateCounter, {}, kExpired).status().code(),
              absl::StatusCode::kInternal);
    EXPECT_EQ(ranks_[1]->Agree(kCreateCounter, {}, kExpired).status().code(),
              absl::StatusCode::kInternal);
  }
}

// Real processes: thousands of calls in which one rank is wrong now and then.
TEST(AgreementProcesses, EveryRankComesToTheSameVerdict) {
  constexpr Rank kSize = 5;
  constexpr uint64_t kCalls = 3000;
  const SharedNode node(kSize);
  const auto statuses = node.Run([&](const NodeView& view) {
    Agreement agreement(std::make_unique<NodeRendezvous>(view, Progress{}), view.rank);
    for (uint64_t i = 0; i < kCalls; ++i) {
      const bool wrong = i % 7 == 0;
      const bool odd_one_out = wrong && view.rank == i % kSize;
      const uint64_t bitmap = i << view.rank;
      absl::Status status;
      if (i % 2 == 0) {
        status = odd_one_out ? agreement.Agree(kCreateCounter, {&bitmap, 1}, Deadline()).status()
                             : agreement.Barrier(Deadline());
      } else {
        const auto result =
            agreement.Agree(CreateSymmetric(odd_one_out ? 0 : i, 8), {&bitmap, 1}, Deadline());
        status = result.status();
        if (status.ok()) {
          uint64_t all = ~uint64_t{0}, any = 0;
          for (Rank r = 0; r < kSize; ++r) {
            all &= i << r;
            any |= i << r;
          }
          ASSERT_EQ(result->all[0], all);
          ASSERT_EQ(result->any[0], any);
        }
      }
      ASSERT_EQ(status.code(), wrong ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kOk)
          << "call " << i << ": " << status;
    }
    node.word(view.rank) = kCalls;
  });
  EXPECT_TRUE(AllSucceeded(statuses));
  for (Rank r = 0; r < kSize; ++r) EXPECT_EQ(node.word(r), kCalls);
}

}  // namespace
}  // namespace weft
