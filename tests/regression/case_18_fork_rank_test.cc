// Case 18: fork and popen in a program that uses Weft. A child is no rank: every
// call says so, whichever way it ends nothing of the parent's is disturbed, and
// it may use its own memory.
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/rank_test.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::weft::testing::TheWorld;

Rank Right() { return (TheWorld().rank() + 1) % TheWorld().size(); }

// Runs `body` in a forked child and returns its wait status. The child ends as
// `end` says.
int InChild(const std::function<int()>& body, const std::function<void(int)>& end) {
  fflush(nullptr);  // Else exit() writes it again.
  const pid_t child = fork();
  if (child == 0) {
    end(body());
    abort();
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

class Case18Fork : public ::testing::Test {
 protected:
  void SetUp() override {
    auto words = Symmetric<uint64_t>::Create(TheWorld(), 4096);
    auto arrived = NotificationCounter::Create(TheWorld());
    ASSERT_TRUE(words.ok() && arrived.ok());
    words_.emplace(*std::move(words));
    arrived_.emplace(*std::move(arrived));
  }
  void TearDown() override { EXPECT_EQ(TheWorld().Barrier(), absl::OkStatus()); }

  // 0 when every call says that this process is no rank; else which does not.
  int CallEverything() {
    const auto word = words_->at(Right());
    uint64_t two[2] = {};
    PostPut(word, 9, *arrived_);
    PostAdd(word, 9);
    PostNotify(Right(), *arrived_);
    Fence(Right());
    const std::vector<absl::Status> statuses = {
        Put(word, 9),
        Put(word, two),
        Get(word).status(),
        Get(word, two),
        FetchAdd(word, 9).status(),
        CompareSwap(word, 0, 9).status(),
        AsyncPut(word, 9).Wait(),
        AsyncGet(word).Wait().status(),
        Put(word, 9, *arrived_),
        Put(word, 9, AddSignal(word, 9)),
        Flush(Right()),
        Flush(),
        TheWorld().Barrier(),
        Symmetric<int>::Create(TheWorld()).status(),
        NotificationCounter::Create(TheWorld()).status(),
        arrived_->Wait(1),
        WaitSignal(words_->at(TheWorld().rank()), 1),
        Allocate<int>().status(),
        TheWorld().Leave(),
        World::Join({}).status(),
    };
    for (size_t i = 0; i < statuses.size(); ++i) {
      if (statuses[i].code() != absl::StatusCode::kFailedPrecondition) {
        fprintf(stderr, "call %zu: %s\n", i, statuses[i].ToString().c_str());
        return static_cast<int>(1 + i);
      }
    }
    return Local(word) == nullptr ? 0 : 100;
  }
  // What the parent's peers have not seen.
  void NothingHappened() {
    ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
    for (uint64_t word : words_->mine()) ASSERT_EQ(word, 0u);
    EXPECT_EQ(arrived_->Arrived(), 0u);
    ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
    ASSERT_EQ(Put(words_->at(Right()), 1), absl::OkStatus());
    ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
    EXPECT_EQ(words_->mine()[0], 1u);
  }

  std::optional<Symmetric<uint64_t>> words_;
  std::optional<NotificationCounter> arrived_;
};

TEST_F(Case18Fork, AChildIsNoRankAndEndsByUnderscoreExit) {
  EXPECT_EQ(InChild([&] { return CallEverything(); }, [](int status) { _exit(status); }), 0);
  NothingHappened();
}

// Destructors of statics run: the world's, which rank_main keeps in one.
TEST_F(Case18Fork, AChildIsNoRankAndEndsByExit) {
  EXPECT_EQ(InChild([&] { return CallEverything(); }, [](int status) { exit(status); }), 0);
  NothingHappened();
}

TEST_F(Case18Fork, WhatAChildDestroysStaysTheParents) {
  EXPECT_EQ(InChild(
                [&] {
                  words_.reset();
                  arrived_.reset();
                  return 0;
                },
                [](int status) { _exit(status); }),
            0);
  // Neither is released: the next ones lie elsewhere.
  auto next = Symmetric<uint64_t>::Create(TheWorld(), 4096);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_NE(next->at(0), words_->at(0));
  NothingHappened();
}

TEST_F(Case18Fork, AGrandchildIsNoRankEither) {
  EXPECT_EQ(
      InChild([&] { return InChild([&] { return CallEverything(); }, [](int s) { _exit(s); }); },
              [](int status) { _exit(status == 0 ? 0 : 1); }),
      0);
  NothingHappened();
}

// Puts go on in another thread while this one forks, touches and runs programs.
TEST_F(Case18Fork, PutsGoOnWhileChildrenComeAndGo) {
  std::atomic<bool> over = false;
  std::atomic<uint64_t> wrong = 0;
  uint64_t rounds = 0;
  std::thread putter([&] {
    std::vector<uint64_t> block(1024), back(1024);
    for (uint64_t round = 1; !over; ++round) {
      for (size_t i = 0; i < block.size(); ++i) block[i] = round * 1'000'003 + i;
      const auto at = words_->at(Right(), 1024);
      if (!Put(at, block).ok() || !Flush(Right()).ok() || !Get(at, back).ok() || back != block) {
        ++wrong;
      }
      rounds = round;
    }
  });
  std::vector<char> memory(1 << 20, 'p');
  for (int i = 0; i < 100; ++i) {
    FILE* const pipe = popen("uname", "r");
    ASSERT_NE(pipe, nullptr);
    char line[64] = {};
    EXPECT_NE(fgets(line, sizeof(line), pipe), nullptr);
    EXPECT_STREQ(line, "Linux\n");
    EXPECT_EQ(pclose(pipe), 0);
    if (i % 4 != 0) continue;
    // Copies on write, beside the pages that peers put to.
    const auto touch = [&] {
      std::memset(memory.data(), 'c', memory.size());
      return words_->mine()[4000] == 0 ? 0 : 1;
    };
    EXPECT_EQ(InChild(touch, [](int status) { _exit(status); }), 0);
  }
  over = true;
  putter.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(rounds, 0u);
  EXPECT_EQ(memory[0], 'p');
}

}  // namespace
}  // namespace weft
