// hello and histogram as users run them.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "tests/examples/run_job.h"

namespace examples {
namespace {

std::multiset<std::string> Lines(const std::string& text) {
  std::multiset<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

class Hello : public testing::TestWithParam<int> {};

TEST_P(Hello, EachRankIsGreetedByItsLeftNeighbour) {
  const int ranks = GetParam();
  const JobResult job = RunJob(ranks, "examples/hello");
  EXPECT_EQ(job.code, 0) << job.err;
  std::multiset<std::string> expected;
  for (int rank = 0; rank < ranks; ++rank) {
    expected.insert("hello from rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
                    ", greeted by rank " + std::to_string((rank + ranks - 1) % ranks));
  }
  EXPECT_EQ(Lines(job.out), expected);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Hello, testing::Values(1, 2, 3, 4, 7));

class Histogram : public testing::TestWithParam<int> {};

TEST_P(Histogram, LosesNoUpdate) {
  const int ranks = GetParam();
  const JobResult job = RunJob(ranks, "examples/histogram",
                               {"--table-bytes", "64K", "--updates=100000", "--seed", "7"});
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_NE(
      job.out.find("verified: " + std::to_string(ranks * 100000) +
                   " random updates of a table of " + std::to_string(ranks * 8192) + " words"),
      std::string::npos)
      << job.out;
  EXPECT_NE(job.out.find(" updates/s with " + std::to_string(ranks) + " rank"), std::string::npos)
      << job.out;
}

INSTANTIATE_TEST_SUITE_P(Ranks, Histogram, testing::Values(1, 2, 3, 4, 7));

// All updates meet on one word of each rank.
TEST(Histogram, LosesNoContendedUpdate) {
  const JobResult job = RunJob(4, "examples/histogram", {"--table-bytes=8", "--updates=100000"});
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_NE(job.out.find("verified: 400000 random updates of a table of 4 words"),
            std::string::npos)
      << job.out;
}

// Where nothing completes at once, and not in order.
TEST(Histogram, LosesNoUpdateThroughATransportThatDelays) {
  const JobResult job = RunJob(3, "examples/histogram", {"--table-bytes=4K", "--updates=2000"},
                               {"-x", "WEFT_FAULT=1"});
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_NE(job.out.find("verified: 6000 random updates"), std::string::npos) << job.out;
}

// One line, though each of the ranks could tell.
TEST(Histogram, TellsOfBadOptionsOnce) {
  const JobResult job = RunJob(3, "examples/histogram", {"--updates=many"});
  EXPECT_NE(job.code, 0);
  const std::string says = "--updates needs a whole number of at least 1, not \"many\"";
  const size_t first = job.err.find(says);
  ASSERT_NE(first, std::string::npos) << job.err;
  EXPECT_EQ(job.err.find("--updates needs", first + 1), std::string::npos) << job.err;
}

TEST(Histogram, TellsHowToGiveALargerTableItsHeap) {
  const JobResult job = RunJob(2, "examples/histogram", {"--table-bytes=16M", "--updates=1"},
                               {"-x", "WEFT_HEAP_BYTES=8M"});
  EXPECT_NE(job.code, 0);
  EXPECT_NE(job.err.find("WEFT_HEAP_BYTES"), std::string::npos) << job.err;
}

TEST(Histogram, HelpIsToldOnce) {
  const JobResult job = RunJob(3, "examples/histogram", {"--help"});
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_EQ(job.out.find("usage:"), job.out.rfind("usage:"));
  EXPECT_EQ(job.out.find("usage:"), 0u) << job.out;
}

}  // namespace
}  // namespace examples
