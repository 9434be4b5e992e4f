// How a job ends, and what the others are told, when one rank ends otherwise
// than by leaving, or cannot join.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/weftrun/weftrun_process.h"
#include "tests/world/rank_report.h"

namespace weft::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct Outcome {
  WeftrunResult result;
  // What each rank told; empty: nothing.
  std::vector<std::string> told;
};

Outcome RunLife(int ranks, const std::string& what, const std::string& odd_one_out = "1") {
  Outcome outcome;
  outcome.result = RunWeftrun({"--timeout", "60", "-n", std::to_string(ranks),
                               Runfile("tests/world/life_program"), what, odd_one_out});
  const std::vector<Report> reports = ParseReports(outcome.result.out);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<Report> of_rank = ReportsOf(reports, std::to_string(rank));
    EXPECT_LE(of_rank.size(), 1u);
    outcome.told.push_back(of_rank.empty() ? "" : of_rank[0].what);
  }
  return outcome;
}

TEST(EndingTest, AnAbortEndsTheJobWithItsStatusAndMessage) {
  const Outcome outcome = RunLife(3, "abort");
  EXPECT_EQ(outcome.result.code(), 42);
  EXPECT_THAT(outcome.result.err, AllOf(HasSubstr("rank 1 on "),
                                        HasSubstr("aborted the job with status 42: the disk is "
                                                  "full")));
  for (int rank : {0, 2}) {
    EXPECT_THAT(outcome.told[rank], AllOf(StartsWith("UNAVAILABLE"), HasSubstr("rank 1 ")));
  }
}

// The world on main's stack leaves.
TEST(EndingTest, ReturningFromMainLeaves) {
  const Outcome outcome = RunLife(3, "return");
  EXPECT_EQ(outcome.result.code(), 0);
  EXPECT_THAT(outcome.result.err, IsEmpty());
  for (int rank : {0, 2}) {
    // Their barrier cannot complete, which is their program's error.
    EXPECT_THAT(outcome.told[rank],
                AllOf(StartsWith("UNAVAILABLE"), HasSubstr("rank 1 has left the job")));
  }
}

TEST(EndingTest, AWorldInAStaticLeavesAtExit) {
  const Outcome outcome = RunLife(3, "static_world");
  EXPECT_EQ(outcome.result.code(), 0) << outcome.result.err;
  EXPECT_THAT(outcome.result.err, IsEmpty());
}

TEST(EndingTest, ExitWithoutLeavingIsAFailureEvenWithStatusZero) {
  const Outcome outcome = RunLife(3, "exit");
  EXPECT_EQ(outcome.result.code(), 1);
  EXPECT_THAT(outcome.result.err,
              AllOf(HasSubstr("rank 1 on "), HasSubstr("ended without leaving the job")));
  for (int rank : {0, 2}) {
    EXPECT_THAT(outcome.told[rank], AllOf(StartsWith("UNAVAILABLE"), HasSubstr("rank 1 died")));
  }
}

TEST(EndingTest, ExitWithAStatus) {
  const Outcome outcome = RunLife(3, "status", "2");
  EXPECT_EQ(outcome.result.code(), 9);
  for (int rank : {0, 1}) {
    EXPECT_THAT(outcome.told[rank],
                AllOf(StartsWith("UNAVAILABLE"), HasSubstr("rank 2 died: exited with status 9")));
  }
}

TEST(EndingTest, ARankThatCannotJoinEndsTheJoinOfTheOthers) {
  const Outcome outcome = RunLife(3, "bad_heap");
  EXPECT_EQ(outcome.result.code(), 3);
  EXPECT_THAT(outcome.told[1],
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("WEFT_HEAP_BYTES=a lot")));
  for (int rank : {0, 2}) {
    EXPECT_THAT(outcome.told[rank], AllOf(StartsWith("UNAVAILABLE"), HasSubstr("rank 1 ")));
  }
}

TEST(EndingTest, UnequalHeapsAreRefusedOnAllRanks) {
  for (const char* odd_one_out : {"0", "1", "2"}) {
    const Outcome outcome = RunLife(3, "unequal", odd_one_out);
    EXPECT_EQ(outcome.result.code(), 3);
    for (const std::string& told : outcome.told) {
      EXPECT_THAT(told, AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("rank "),
                              HasSubstr("all ranks must ask for the same")));
    }
  }
}

TEST(EndingTest, AForkedChildThatReturnsFromMainDisturbsNobody) {
  const Outcome outcome = RunLife(3, "fork");
  EXPECT_EQ(outcome.result.code(), 0) << outcome.result.err;
  EXPECT_THAT(outcome.told, ::testing::Each("OK"));
}

TEST(EndingTest, ALoneRankJoinsAndEnds) {
  for (const char* what : {"static_world", "fork", "none"}) {
    WeftrunProcess process({.program = Runfile("tests/world/life_program"), .arguments = {what}});
    const WeftrunResult result = process.Wait();
    EXPECT_EQ(result.code(), 0) << what << ": " << result.out << result.err;
    EXPECT_THAT(result.err, IsEmpty());
  }
}

}  // namespace
}  // namespace weft::testing
