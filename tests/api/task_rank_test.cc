// Tasks: many chains of remote operations under way at once in one thread.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/rank_test.h"
#include "weft/task.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::weft::testing::TheWorld;

Rank Right() { return (TheWorld().rank() + 1) % TheWorld().size(); }

struct Node {
  RemotePtr<Node> next;
  uint64_t value;
};

Task Sum(RemotePtr<Node> at, uint64_t& sum) {
  while (at) {
    auto node = co_await AsyncGet(at);
    if (!node.ok()) co_return node.status();
    sum += node->value;
    at = node->next;
  }
  co_return absl::OkStatus();
}

// Lists that hop from rank to rank.
TEST(Task, ManyChainsRunAtOnce) {
  constexpr size_t kLists = 20;
  constexpr size_t kLength = 10;
  auto nodes = Symmetric<Node>::Create(TheWorld(), kLists * kLength);
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  for (size_t i = 0; i < kLists * kLength; ++i) {
    const bool last = i % kLength == kLength - 1;
    nodes->mine()[i] = {last ? RemotePtr<Node>() : nodes->at(Right(), i + 1), i};
  }
  ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
  std::vector<uint64_t> sums(kLists);
  std::vector<Task> tasks;
  for (size_t list = 0; list < kLists; ++list) {
    tasks.push_back(Sum(nodes->at(Right(), list * kLength), sums[list]));
  }
  ASSERT_EQ(RunAll(std::move(tasks)), absl::OkStatus());
  for (size_t list = 0; list < kLists; ++list) {
    EXPECT_EQ(sums[list], kLength * list * kLength + kLength * (kLength - 1) / 2);
  }
  ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
}

Task PutThenAdd(RemotePtr<uint64_t> word, uint64_t value) {
  absl::Status put = co_await AsyncPut(word, value);
  if (!put.ok()) co_return put;
  auto before = co_await AsyncFetchAdd(word + 1, uint64_t{1});
  co_return before.status();
}

TEST(Task, TheFirstErrorIsReturnedAfterAllHaveEnded) {
  auto words = Symmetric<uint64_t>::Create(TheWorld(), 2);
  ASSERT_TRUE(words.ok()) << words.status();
  std::vector<Task> tasks;
  tasks.push_back(PutThenAdd(RemotePtr<uint64_t>(), 1));
  tasks.push_back(PutThenAdd(words->at(Right()), 5));
  EXPECT_EQ(RunAll(std::move(tasks)).code(), absl::StatusCode::kOutOfRange);
  ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
  EXPECT_EQ(words->mine()[0], 5u);
  EXPECT_EQ(words->mine()[1], 1u);
  EXPECT_EQ(RunAll({}), absl::OkStatus());
  ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
}

TEST(Task, OneThatIsNeverRunIsDropped) {
  uint64_t sum = 0;
  { Task task = Sum(RemotePtr<Node>(), sum); }
  EXPECT_EQ(sum, 0u);
}

}  // namespace
}  // namespace weft
