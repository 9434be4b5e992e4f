#include "tests/campaign/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/deadline.h"

namespace weft {
namespace {

std::vector<std::string> Arguments(Rank ranks, std::vector<std::string> flags) {
  if (ranks > 0) flags.insert(flags.begin(), {"-n", absl::StrCat(ranks)});
  flags.insert(flags.end(), {"--on-failure", "notify", "--timeout", "100",
                             Runfile("tests/campaign/survivor_program")});
  return flags;
}

}  // namespace

Trial::Trial(Rank ranks, std::vector<std::string> flags)
    : size_(ranks), process_({.arguments = Arguments(ranks, std::move(flags))}) {}

bool Trial::AwaitUp() {
  return process_.AwaitOutput([this](const std::string& out) {
    processes_.clear();
    for (const auto line : absl::StrSplit(out, '\n')) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      Rank rank;
      pid_t process;
      if (words.size() == 3 && words[0] == "up" && absl::SimpleAtoi(words[1], &rank) &&
          absl::SimpleAtoi(words[2], &process)) {
        processes_[rank] = process;
      }
    }
    return processes_.size() == size_;
  });
}

void Trial::Signal(Rank rank, int signal) {
  if (signal == SIGKILL) dead_.insert(rank);
  kill(ProcessOf(rank), signal);
}

std::map<uint32_t, std::map<Rank, Trial::Ranks>> Trial::LinesOf(const std::string& word) const {
  std::map<uint32_t, std::map<Rank, Ranks>> lines;
  for (const auto line : absl::StrSplit(process_.out(), '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" :"), absl::SkipEmpty());
    uint32_t epoch;
    Rank rank;
    if (words.size() < 3 || words[0] != word || !absl::SimpleAtoi(words[1], &epoch) ||
        !absl::SimpleAtoi(words[2], &rank)) {
      continue;
    }
    Ranks& ranks = lines[epoch][rank];
    for (size_t i = 3; i < words.size(); ++i) {
      Rank other;
      if (absl::SimpleAtoi(words[i], &other)) ranks.insert(other);
    }
  }
  return lines;
}

Trial::Ranks Trial::Survivors() const {
  Ranks survivors;
  for (Rank rank = 0; rank < size_; ++rank) {
    if (!dead_.contains(rank)) survivors.insert(rank);
  }
  return survivors;
}

bool Trial::AwaitSurvivors() const {
  const Ranks survivors = Survivors();
  return process_.AwaitOutput([&](const std::string&) {
    Ranks told, gone_on;
    for (const auto& [epoch, by_rank] : LinesOf("epoch")) {
      for (const auto& [rank, dead] : by_rank) {
        if (dead == dead_) told.insert(rank);
      }
    }
    for (const auto& [epoch, by_rank] : LinesOf("team")) {
      for (const auto& [rank, members] : by_rank) {
        if (members == survivors) gone_on.insert(rank);
      }
    }
    return std::ranges::includes(told, survivors) && std::ranges::includes(gone_on, survivors);
  });
}

void Trial::Finish() {
  process_.Signal(SIGUSR1);
  Check(process_.Wait());
}

void Trial::FinishWhateverDied() {
  process_.Signal(SIGUSR1);
  const WeftrunResult result = process_.Wait();
  const auto epochs = LinesOf("epoch");
  if (!epochs.empty()) dead_ = epochs.rbegin()->second.begin()->second;
  Check(result);
}

void Trial::Check(const WeftrunResult& result) {
  const std::string all = absl::StrCat(result.out, result.err);
  EXPECT_EQ(result.code(), 0) << all;
  EXPECT_THAT(result.out, testing::Not(testing::HasSubstr("wrong"))) << all;
  for (const Rank rank : Survivors()) {
    EXPECT_THAT(result.out, testing::HasSubstr(absl::StrCat("done ", rank, ":"))) << all;
  }
  // All that were told of an epoch were told the same, and nobody comes back to life.
  Ranks before;
  for (const auto& [epoch, by_rank] : LinesOf("epoch")) {
    const Ranks& first = by_rank.begin()->second;
    for (const auto& [rank, dead] : by_rank) EXPECT_EQ(dead, first) << epoch << "\n" << all;
    EXPECT_TRUE(std::ranges::includes(first, before)) << epoch << "\n" << all;
    before = first;
  }
  EXPECT_EQ(before, dead_) << all;
  for (const auto& [epoch, by_rank] : LinesOf("team")) {
    const Ranks& first = by_rank.begin()->second;
    for (const auto& [rank, members] : by_rank) EXPECT_EQ(members, first) << epoch << "\n" << all;
  }
  EXPECT_TRUE(process_.Gone(Deadline::After(absl::Seconds(2)))) << process_.Describe();
}

}  // namespace weft
