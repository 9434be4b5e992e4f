// The ledger: tokens find their slot once, queues keep the order of issue.
#include "runtime/engine/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace weft {
namespace {

TEST(Ledger, TokensOfFreedSlotsFindNothing) {
  Ledger ledger(4);
  const uint32_t slot = ledger.Allocate();
  const uint64_t token = ledger.Token(slot);
  EXPECT_NE(token, 0u);
  EXPECT_EQ(ledger.FindToken(token), slot);
  ledger.Free(slot);
  EXPECT_EQ(ledger.FindToken(token), Ledger::kNone);
  EXPECT_EQ(ledger.Allocate(), slot);  // The same slot, another generation.
  EXPECT_EQ(ledger.FindToken(token), Ledger::kNone);
  EXPECT_NE(ledger.Token(slot), token);
  EXPECT_EQ(ledger.FindToken(UINT64_MAX), Ledger::kNone);
  EXPECT_EQ(ledger.FindToken(0), Ledger::kNone);
}

TEST(Ledger, TheNextTokenIsThatOfTheNextSlot) {
  Ledger ledger(3);
  for (int i = 0; i < 3; ++i) {
    const uint64_t next = ledger.NextToken();
    EXPECT_EQ(ledger.NextToken(), next);
    EXPECT_EQ(ledger.FindToken(next), Ledger::kNone);
    EXPECT_EQ(ledger.in_use(), static_cast<uint32_t>(i));
    EXPECT_EQ(ledger.Token(ledger.Allocate()), next);
  }
  ledger.Free(1);
  const uint64_t next = ledger.NextToken();
  EXPECT_EQ(ledger.Token(ledger.Allocate()), next);
}

TEST(Ledger, IsFullAtItsCapacity) {
  Ledger ledger(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(ledger.full());
    ledger.Allocate();
  }
  EXPECT_TRUE(ledger.full());
  ledger.Free(1);
  EXPECT_FALSE(ledger.full());
  EXPECT_EQ(ledger.in_use(), 2u);
}

TEST(Ledger, ASlotComesBackBlank) {
  Ledger ledger(1);
  uint32_t slot = ledger.Allocate();
  ledger[slot].late = true;
  ledger[slot].end = End::kInternal;
  ledger[slot].value = 5;
  ledger.Free(slot);
  slot = ledger.Allocate();
  EXPECT_FALSE(ledger[slot].late);
  EXPECT_EQ(ledger[slot].end, End::kOk);
  EXPECT_EQ(ledger[slot].value, 0u);
}

// Against a vector, through random appends and removals.
TEST(Ledger, QueuesKeepTheOrderOfIssue) {
  std::mt19937 random(3);
  Ledger ledger(64);
  LaneQueue queue;
  std::vector<uint32_t> model;
  uint64_t sequence = 0;
  size_t posted = 0;  // How many at the front of the model are handed over.
  for (int step = 0; step < 100'000; ++step) {
    const unsigned dice = random() % 8;
    if (dice < 4 && !ledger.full()) {
      const uint32_t slot = ledger.Allocate();
      ledger[slot].sequence = sequence++;
      ledger.Append(queue, slot);
      model.push_back(slot);
    } else if (dice < 7 && !model.empty()) {
      const size_t at = random() % model.size();
      ledger.Remove(queue, model[at]);
      ledger.Free(model[at]);
      model.erase(model.begin() + static_cast<ptrdiff_t>(at));
      if (at < posted) --posted;
    } else if (posted < model.size()) {
      queue.to_post = ledger[queue.to_post].next;
      ++posted;
    }
    ASSERT_EQ(queue.to_post, posted < model.size() ? model[posted] : Ledger::kNone);
    ASSERT_EQ(ledger.Oldest(queue), model.empty() ? UINT64_MAX : ledger[model[0]].sequence);
    std::vector<uint32_t> forward, backward;
    for (uint32_t i = queue.head; i != Ledger::kNone; i = ledger[i].next) forward.push_back(i);
    for (uint32_t i = queue.tail; i != Ledger::kNone; i = ledger[i].previous) backward.push_back(i);
    std::ranges::reverse(backward);
    ASSERT_EQ(forward, model);
    ASSERT_EQ(backward, model);
  }
}

}  // namespace
}  // namespace weft
