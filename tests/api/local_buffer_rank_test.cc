// LocalBuffer: what is in it moves, whole, and it may go while it does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "tests/support/rank_test.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::weft::testing::TheWorld;

#define ASSERT_OK(expression) ASSERT_EQ((expression), absl::OkStatus())

constexpr size_t kWords = 100'000;

Rank Right() { return (TheWorld().rank() + 1) % TheWorld().size(); }

TEST(LocalBuffer, PutsAndGetsMoveItWhole) {
  auto theirs = Symmetric<uint64_t>::Create(TheWorld(), kWords);
  auto buffer = LocalBuffer<uint64_t>::Create(TheWorld(), kWords);
  ASSERT_TRUE(theirs.ok() && buffer.ok());
  ASSERT_EQ(buffer->size(), kWords);
  EXPECT_TRUE(std::ranges::all_of(buffer->span(), [](uint64_t word) { return word == 0; }));
  std::iota(buffer->data(), buffer->data() + kWords, TheWorld().rank());
  ASSERT_OK(Put(theirs->at(Right()), buffer->span()));
  ASSERT_OK(TheWorld().Barrier());
  const Rank left = (TheWorld().rank() + TheWorld().size() - 1) % TheWorld().size();
  for (size_t i = 0; i < kWords; ++i) ASSERT_EQ(theirs->mine()[i], left + i);

  std::ranges::fill(buffer->span(), 0);
  ASSERT_OK(Get(theirs->at(Right()), buffer->span()));
  for (size_t i = 0; i < kWords; ++i) ASSERT_EQ((*buffer)[i], TheWorld().rank() + i);
  // A part of it, too.
  ASSERT_OK(Get(theirs->at(Right(), 5), buffer->span().subspan(7, kWords / 2)));
  ASSERT_EQ((*buffer)[7], TheWorld().rank() + 5);
  ASSERT_OK(TheWorld().Barrier());
}

TEST(LocalBuffer, DestructionWaitsForWhatIsUnderWay) {
  auto theirs = Symmetric<uint64_t>::Create(TheWorld(), kWords);
  ASSERT_TRUE(theirs.ok());
  for (uint64_t round = 1; round <= 5; ++round) {
    {
      auto buffer = LocalBuffer<uint64_t>::Create(TheWorld(), kWords);
      ASSERT_TRUE(buffer.ok()) << buffer.status();
      std::ranges::fill(buffer->span(), round);
      PostPut(theirs->at(Right()), buffer->span());
    }
    ASSERT_OK(Flush());
    ASSERT_OK(TheWorld().Barrier());
    for (const uint64_t word : theirs->mine()) ASSERT_EQ(word, round);
    ASSERT_OK(TheWorld().Barrier());
  }
}

TEST(LocalBuffer, MovesAndMayBeEmpty) {
  auto empty = LocalBuffer<uint64_t>::Create(TheWorld(), 0);
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_TRUE(empty->span().empty());
  auto first = LocalBuffer<uint64_t>::Create(TheWorld(), 3);
  ASSERT_TRUE(first.ok());
  (*first)[2] = 7;
  LocalBuffer<uint64_t> second = *std::move(first);
  *empty = std::move(second);
  EXPECT_EQ((*empty)[2], 7u);
  EXPECT_EQ(LocalBuffer<uint64_t>::Create(TheWorld(), SIZE_MAX).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace weft
