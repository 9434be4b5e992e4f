// The rendezvous by messages, one rank after the other in one thread: an expired
// deadline makes a call go as far as it can and return, so that every interleaving
// is a plain sequence of calls. What takes real threads is in job_ranks_test.cc.
#include "runtime/sync/job_rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "absl/time/time.h"
#include "tests/runtime/sync/engine_node.h"

namespace weft {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

const Deadline kExpired = Deadline::AtMonotonicNanos(0);

class Job {
 public:
  explicit Job(Rank size) : engines_(size) {
    for (Rank r = 0; r < size; ++r) {
      ranks_.push_back(
          std::make_unique<JobRendezvous>(engines_.node().view(r), engines_.engine(r), Progress{}));
    }
  }

  SharedNode& node() { return engines_.node(); }
  absl::Status Barrier(Rank rank, Deadline deadline = kExpired) {
    return ranks_[rank]->Meet({}, nullptr, deadline, nullptr);
  }
  // All call Barrier, in that order again and again, until none is late.
  std::vector<absl::Status> Complete(std::vector<Rank> order) {
    std::vector<absl::Status> statuses(ranks_.size());
    for (int i = 0; !order.empty(); ++i) {
      EXPECT_LT(i, 20) << "late for ever";
      if (i == 20) break;
      std::erase_if(order, [&](Rank r) {
        statuses[r] = Barrier(r);
        return !absl::IsDeadlineExceeded(statuses[r]);
      });
    }
    return statuses;
  }

 private:
  EngineNode engines_;
  std::vector<std::unique_ptr<JobRendezvous>> ranks_;
};

std::vector<Rank> AllOf(Rank size) {
  std::vector<Rank> ranks(size);
  std::iota(ranks.begin(), ranks.end(), Rank{0});
  return ranks;
}

class JobRendezvousSizes : public ::testing::TestWithParam<Rank> {};
INSTANTIATE_TEST_SUITE_P(Sizes, JobRendezvousSizes,
                         ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 33));

TEST_P(JobRendezvousSizes, AllCompleteInAnyOrder) {
  const Rank size = GetParam();
  Job job(size);
  std::mt19937 random(size);
  std::vector<Rank> order = AllOf(size);
  for (int round = 0; round < 50; ++round) {
    std::ranges::shuffle(order, random);
    for (const absl::Status& status : job.Complete(order)) ASSERT_TRUE(status.ok()) << status;
  }
}

TEST_P(JobRendezvousSizes, NobodyCompletesWithoutTheLast) {
  const Rank size = GetParam();
  if (size == 1) return;
  for (Rank last = 0; last < size; ++last) {
    Job job(size);
    for (int i = 0; i < 8; ++i) {  // More than there are rounds.
      for (Rank r = 0; r < size; ++r) {
        if (r == last) continue;
        ASSERT_EQ(job.Barrier(r).code(), absl::StatusCode::kDeadlineExceeded);
      }
    }
    for (const absl::Status& status : job.Complete(AllOf(size))) EXPECT_TRUE(status.ok()) << status;
  }
}

// Whatever rank waits for whom, the chain ends at the one that is missing.
TEST_P(JobRendezvousSizes, LateNamesTheMissingRank) {
  const Rank size = GetParam();
  for (Rank missing = 0; missing < size; ++missing) {
    Job job(size);
    for (int i = 0; i < 8; ++i) {  // More than there are rounds.
      for (Rank r = 0; r < size; ++r) {
        if (r != missing) (void)job.Barrier(r);
      }
    }
    for (Rank r = 0; r < size; ++r) {
      if (r == missing) continue;
      const absl::Status late = job.Barrier(r);
      EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_THAT(late.message(),
                  HasSubstr("barrier 1: of " + std::to_string(size) +
                            " ranks at least one has not arrived: " + std::to_string(missing) +
                            "; call it again to go on waiting for the same one"));
    }
  }
}

TEST(JobRendezvous, LateIsToldWhenAllHaveArrived) {
  Job job(2);
  EXPECT_FALSE(job.Barrier(0).ok());
  EXPECT_TRUE(job.Barrier(1).ok());
  EXPECT_TRUE(job.Barrier(0).ok());
  Job three(3);
  EXPECT_FALSE(three.Barrier(0).ok());
  EXPECT_FALSE(three.Barrier(1).ok());
  const absl::Status late = three.Barrier(2);  // It waits for what rank 0 will say when it runs.
  EXPECT_THAT(late.message(), HasSubstr("all ranks seem to have arrived by now")) << late;
}

TEST(JobRendezvous, DeadlineIsKeptWhileItSleeps) {
  Job job(2);
  const int64_t start = MonotonicNanos();
  EXPECT_EQ(job.Barrier(0, Deadline::After(absl::Milliseconds(30))).code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_GE(MonotonicNanos() - start, 30'000'000);
}

TEST(JobRendezvous, DeadMemberIsNamedWithItsEnd) {
  for (Rank dead = 1; dead < 4; ++dead) {
    Job job(4);
    job.node().MarkDead(dead, SIGKILL);
    const absl::Status status = job.Barrier(0, Deadline());
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(status.message(),
                HasSubstr("rank " + std::to_string(dead) + " died: killed by signal 9 (Killed)"));
  }
}

TEST(JobRendezvous, MemberThatLeftInsteadOfArrivingIsNamed) {
  for (Rank left = 1; left < 4; ++left) {
    Job job(4);
    for (const absl::Status& status : job.Complete(AllOf(4))) EXPECT_TRUE(status.ok());
    job.node().MarkLeft(left);
    const absl::Status status = job.Barrier(0, Deadline());
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr("rank " + std::to_string(left) + " has left"));
  }
}

TEST(JobRendezvous, MemberThatLeftAfterALateCallIsNamed) {
  Job job(3);
  EXPECT_FALSE(job.Barrier(1).ok());
  job.node().MarkLeft(1);
  const absl::Status status = job.Barrier(0, Deadline());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("rank 1 has left"));
}

// As at a job's end: some are through the last barrier, and leave, while messages to
// others are still to be sent.
TEST(JobRendezvous, MemberThatCompletedAndLeftHoldsNobodyUp) {
  Job job(3);
  EXPECT_FALSE(job.Barrier(0).ok());
  EXPECT_FALSE(job.Barrier(1).ok());
  EXPECT_FALSE(job.Barrier(2).ok());
  EXPECT_TRUE(job.Barrier(1).ok());
  job.node().MarkLeft(1);
  EXPECT_EQ(job.Barrier(2).code(), absl::StatusCode::kDeadlineExceeded);  // It waits for rank 0.
  EXPECT_TRUE(job.Barrier(0).ok());
  job.node().MarkLeft(0);
  EXPECT_TRUE(job.Barrier(2, Deadline()).ok());
  EXPECT_EQ(job.Barrier(2, Deadline()).code(), absl::StatusCode::kUnavailable);
}

TEST(JobRendezvous, TheFirstThatWasLostIsNamed) {
  Job job(4);
  job.node().MarkDead(2, SIGKILL);
  job.node().MarkLeft(1);
  for (Rank r : {0, 3}) {
    EXPECT_THAT(job.Barrier(r, Deadline()).message(), HasSubstr("rank 2 died"));
  }
}

// Whoever is gone had done all that others need.
TEST(JobRendezvous, OneThatCompletedBeforeTheDeathIsOk) {
  Job job(3);
  EXPECT_FALSE(job.Barrier(0).ok());
  EXPECT_FALSE(job.Barrier(1).ok());
  EXPECT_FALSE(job.Barrier(2).ok());
  EXPECT_TRUE(job.Barrier(0).ok());
  job.node().MarkDead(0, SIGKILL);
  EXPECT_TRUE(job.Barrier(1, Deadline()).ok());
  EXPECT_TRUE(job.Barrier(2, Deadline()).ok());
  EXPECT_THAT(job.Barrier(2, Deadline()).message(), HasSubstr("rank 0 died"));
}

TEST(JobRendezvous, WildWritesMayDelayItAndNoMore) {
  for (const uint64_t junk : {~uint64_t{0}, uint64_t{3}, uint64_t{2}}) {
    Job job(3);
    for (Rank r = 0; r < 3; ++r) {
      RendezvousLines& lines = job.node().view(0).control(r).rendezvous;
      lines.state = junk;
      for (auto& parity : lines.rounds) {
        for (RoundSlot& slot : parity) {
          slot.word = junk;
          std::ranges::fill(slot.summary, junk);
        }
      }
    }
    for (int i = 0; i < 3; ++i) {
      for (Rank r = 0; r < 3; ++r) {
        EXPECT_THAT(job.Barrier(r).code(),
                    AnyOf(absl::StatusCode::kOk, absl::StatusCode::kDeadlineExceeded,
                          absl::StatusCode::kInvalidArgument));
      }
    }
  }
}

TEST(JobRendezvous, ProgressIsMadeWhileItWaits) {
  EngineNode engines(2);
  JobRendezvous other(engines.node().view(1), engines.engine(1), {});
  int steps = 0;
  // What the other rank needs in order to arrive.
  const auto step = [&] {
    if (++steps == 20) {
      EXPECT_TRUE(other.Meet({}, nullptr, Deadline(), nullptr).ok());
    }
  };
  JobRendezvous rank(engines.node().view(0), engines.engine(0), {step, 100'000});
  EXPECT_TRUE(rank.Meet({}, nullptr, Deadline(), nullptr).ok());
  EXPECT_GE(steps, 20);
}

}  // namespace
}  // namespace weft
