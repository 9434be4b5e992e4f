#include "tools/weftrun/ending.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace weft {
namespace {

using Step = Ending::Step;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kStart = 1'000'000'000'000;
constexpr int64_t At(int64_t milliseconds) { return kStart + milliseconds * kMillisecond; }
constexpr int Exit(int code) { return code << 8; }  // As of waitpid.

TEST(EndingTest, NothingHappensByItself) {
  Ending ending;
  EXPECT_FALSE(ending.begun());
  EXPECT_TRUE(ending.next().infinite());
  EXPECT_EQ(ending.Due(At(0)), Step::kNothing);
  EXPECT_EQ(ending.code(), 0);
  EXPECT_EQ(ending.line(), "");
}

TEST(EndingTest, AFailureEndsTheJobInTwoSteps) {
  Ending ending;
  ending.RankFailed(At(0), Exit(3), "rank 1 failed");
  EXPECT_TRUE(ending.begun());
  EXPECT_EQ(ending.next().monotonic_nanos(), At(500));
  EXPECT_EQ(ending.Due(At(499)), Step::kNothing);
  EXPECT_EQ(ending.Due(At(500)), Step::kTerminate);
  EXPECT_EQ(ending.Due(At(501)), Step::kNothing);
  EXPECT_EQ(ending.next().monotonic_nanos(), At(1500));
  EXPECT_EQ(ending.Due(At(1500)), Step::kKill);
  EXPECT_TRUE(ending.next().infinite());
  EXPECT_EQ(ending.code(), 3);
  EXPECT_EQ(ending.line(), "rank 1 failed");
}

TEST(EndingTest, TheFirstFailureCounts) {
  Ending ending;
  ending.RankFailed(At(0), SIGKILL, "first");
  ending.RankFailed(At(400), Exit(1), "second");
  EXPECT_EQ(ending.code(), 137);
  EXPECT_EQ(ending.line(), "first");
  EXPECT_EQ(ending.next().monotonic_nanos(), At(500));
  ending.Explain(4, "better");
  EXPECT_EQ(ending.code(), 4);
  EXPECT_EQ(ending.line(), "better");
}

TEST(EndingTest, ASignalGivesFiveSecondsASecondOneNone) {
  Ending ending;
  ending.Interrupted(At(0), SIGINT);
  EXPECT_EQ(ending.next().monotonic_nanos(), At(5000));
  ending.RankFailed(At(10), SIGINT, "rank 0 was killed");
  EXPECT_EQ(ending.next().monotonic_nanos(), At(5000));
  EXPECT_EQ(ending.code(), 130);
  EXPECT_EQ(ending.line(), "the job was ended by signal 2 (Interrupt)");
  ending.Interrupted(At(20), SIGINT);
  EXPECT_EQ(ending.Due(At(20)), Step::kKill);
}

TEST(EndingTest, RanksThatEndWellOnASignalAreNoFailure) {
  Ending ending;
  ending.Interrupted(At(0), SIGTERM);
  EXPECT_EQ(ending.code(), 0);
  EXPECT_EQ(ending.line(), "");
}

TEST(EndingTest, RanksThatIgnoreASignalAreKilled) {
  Ending ending;
  ending.Interrupted(At(0), SIGTERM);
  EXPECT_EQ(ending.Due(At(5000)), Step::kKill);
  EXPECT_EQ(ending.code(), 143);
  EXPECT_EQ(ending.line(), "the job was ended by signal 15 (Terminated)");
}

TEST(EndingTest, ARanksOwnStatusOnASignalCounts) {
  Ending ending;
  ending.Interrupted(At(0), SIGTERM);
  ending.RankFailed(At(1), Exit(9), "rank 2 exited with status 9");
  ending.RankFailed(At(2), SIGTERM, "rank 1");
  EXPECT_EQ(ending.code(), 9);
  EXPECT_EQ(ending.line(), "rank 2 exited with status 9");
}

TEST(EndingTest, ASignalDuringTheGraceChangesNoCause) {
  Ending ending;
  ending.RankFailed(At(0), Exit(3), "rank 1 failed");
  ending.Interrupted(At(100), SIGINT);
  EXPECT_EQ(ending.code(), 3);
  EXPECT_EQ(ending.Due(At(500)), Step::kTerminate);
  EXPECT_EQ(ending.Due(At(1500)), Step::kKill);
}

TEST(EndingTest, ATimeoutTerminatesAtOnce) {
  Ending ending;
  ending.CutShort(At(0), 124, "too late");
  EXPECT_EQ(ending.Due(At(0)), Step::kTerminate);
  ending.RankFailed(At(1), SIGTERM, "rank 0");
  EXPECT_EQ(ending.Due(At(1000)), Step::kKill);
  EXPECT_EQ(ending.code(), 124);
  EXPECT_EQ(ending.line(), "too late");
}

}  // namespace
}  // namespace weft
