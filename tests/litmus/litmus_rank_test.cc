// One litmus test for each rule of docs/memory-model.md. Every case runs on all
// ranks of a job, bare and with operations delayed and reordered (WEFT_FAULT).
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/rank_test.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::weft::testing::TheWorld;

#define ASSERT_OK(expression) ASSERT_EQ((expression), absl::OkStatus())

constexpr uint64_t kRounds = 300;

Rank Right() { return (TheWorld().rank() + 1) % TheWorld().size(); }

// Two lines apart, so that nothing arrives together by chance.
constexpr size_t kApart = 32;

class Litmus : public ::testing::Test {
 protected:
  void SetUp() override {
    auto words = Symmetric<uint64_t>::Create(TheWorld(), 8 * kApart);
    ASSERT_TRUE(words.ok()) << words.status();
    words_.emplace(*std::move(words));
    auto arrived = NotificationCounter::Create(TheWorld());
    ASSERT_TRUE(arrived.ok()) << arrived.status();
    arrived_.emplace(*std::move(arrived));
  }
  void TearDown() override { EXPECT_EQ(TheWorld().Barrier(), absl::OkStatus()); }

  RemotePtr<uint64_t> Word(Rank rank, size_t index) const {
    return words_->at(rank, index * kApart);
  }
  uint64_t Mine(size_t index) const { return words_->mine()[index * kApart]; }

  std::optional<Symmetric<uint64_t>> words_;
  std::optional<NotificationCounter> arrived_;
};

// Rule 1: a completed put is visible to whoever synchronises with its writer
// afterwards: by barrier, atomic, notification, signal.
TEST_F(Litmus, R1CompletedPutsAreVisibleAfterABarrier) {
  for (uint64_t round = 1; round <= kRounds; ++round) {
    ASSERT_OK(Put(Word(Right(), 0), round));
    ASSERT_OK(TheWorld().Barrier());
    ASSERT_EQ(Mine(0), round);
    ASSERT_OK(TheWorld().Barrier());
  }
}

TEST_F(Litmus, R1CompletedPutsAreVisibleAfterAnAtomic) {
  for (uint64_t round = 1; round <= kRounds; ++round) {
    ASSERT_OK(Put(Word(Right(), 0), round));
    ASSERT_TRUE(FetchAdd(Word(Right(), 1), 1).ok());
    const absl::Time late = absl::Now() + absl::Seconds(60);
    while (*Fetch(Word(TheWorld().rank(), 1)) < round) ASSERT_LT(absl::Now(), late);
    ASSERT_EQ(Mine(0), round);
    ASSERT_OK(TheWorld().Barrier());
  }
}

// Store buffering (Dekker) between two ranks needs a Flush in between; with it,
// never do both miss the other's put.
TEST_F(Litmus, R1StoreThenLoadNeedsAFlush) {
  if (TheWorld().size() < 2) return;
  auto both_missed = Symmetric<uint64_t>::Create(TheWorld(), 2);
  ASSERT_TRUE(both_missed.ok());
  for (uint64_t round = 1; round <= kRounds; ++round) {
    ASSERT_OK(TheWorld().Barrier());
    if (TheWorld().rank() < 2) {
      const Rank other = 1 - TheWorld().rank();
      PostPut(Word(other, 0), round);
      ASSERT_OK(Flush(other));
      // What the other put, it put here.
      auto seen = Get(Word(TheWorld().rank(), 0));
      ASSERT_TRUE(seen.ok());
      ASSERT_OK(Put(both_missed->at(0, TheWorld().rank()), *seen));
    }
    ASSERT_OK(TheWorld().Barrier());
    if (TheWorld().rank() == 0) {
      EXPECT_TRUE(both_missed->mine()[0] == round || both_missed->mine()[1] == round);
    }
  }
}

// Rule 2: what a fence separates arrives in order.
TEST_F(Litmus, R2AFenceOrdersPutsToOneRank) {
  for (uint64_t round = 1; round <= kRounds; ++round) {
    PostPut(Word(Right(), 0), round);
    Fence(Right());
    PostPut(Word(Right(), 1), round);
    // The reader synchronises by the second word alone, with gets.
    const Rank me = TheWorld().rank();
    const absl::Time late = absl::Now() + absl::Seconds(60);
    while (*Get(Word(me, 1)) < round) ASSERT_LT(absl::Now(), late);
    ASSERT_EQ(*Get(Word(me, 0)), round);
    ASSERT_OK(TheWorld().Barrier());
  }
}

// Also where the atomic goes through a device, and the put is a store.
TEST_F(Litmus, R2AFenceOrdersAnAtomicAndAPut) {
  for (uint64_t round = 1; round <= kRounds; ++round) {
    PostAdd(Word(Right(), 0), 1);
    Fence(Right());
    PostPut(Word(Right(), 1), round);
    const Rank me = TheWorld().rank();
    const absl::Time late = absl::Now() + absl::Seconds(60);
    while (*Get(Word(me, 1)) < round) ASSERT_LT(absl::Now(), late);
    ASSERT_EQ(*Fetch(Word(me, 0)), round);
    ASSERT_OK(TheWorld().Barrier());
  }
}

// Rule 3: a notification or signal follows the data of its own put, and what a
// fence put before it.
TEST_F(Litmus, R3ANotificationFollowsItsOwnPut) {
  std::vector<uint64_t> block(kApart);
  for (uint64_t round = 1; round <= kRounds; ++round) {
    block.assign(kApart, round);
    PostPut(Word(Right(), 0), block, *arrived_);
    ASSERT_OK(arrived_->Wait(1));
    for (size_t i = 0; i < kApart; ++i) ASSERT_EQ(words_->mine()[i], round);
    ASSERT_OK(TheWorld().Barrier());
  }
}

TEST_F(Litmus, R3ASignalFollowsItsOwnPut) {
  for (uint64_t round = 1; round <= kRounds; ++round) {
    PostPut(Word(Right(), 0), round, SetSignal(Word(Right(), 1), round));
    ASSERT_OK(WaitSignal(Word(TheWorld().rank(), 1), round));
    ASSERT_EQ(Mine(0), round);
    ASSERT_OK(TheWorld().Barrier());
  }
}

TEST_F(Litmus, R3ANotificationFollowsFencedPuts) {
  for (uint64_t round = 1; round <= kRounds; ++round) {
    PostPut(Word(Right(), 0), round);
    PostPut(Word(Right(), 1), round);
    Fence(Right());
    PostNotify(Right(), *arrived_);
    ASSERT_OK(arrived_->Wait(1));
    ASSERT_EQ(Mine(0), round);
    ASSERT_EQ(Mine(1), round);
    ASSERT_OK(TheWorld().Barrier());
  }
}

// Rule 4: an aligned value of 1, 2, 4 or 8 bytes is put and got whole.
template <typename T>
void ExpectWhole(RemotePtr<uint64_t> there, RemotePtr<uint64_t> here) {
  const T all_ones = static_cast<T>(~T{0});
  for (uint64_t i = 0; i < 3000; ++i) {
    PostPut(there.As<T>(), i % 2 == 0 ? T{0} : all_ones);
    auto seen = Get(here.As<T>());
    ASSERT_TRUE(seen.ok());
    ASSERT_TRUE(*seen == 0 || *seen == all_ones) << +*seen;
  }
  ASSERT_OK(Flush(there.rank()));
}

TEST_F(Litmus, R4SingleValuesAreWhole) {
  const Rank me = TheWorld().rank();
  ExpectWhole<uint64_t>(Word(Right(), 0), Word(me, 0));
  ExpectWhole<uint32_t>(Word(Right(), 1), Word(me, 1));
  // Soft devices copy two bytes one by one; docs/verbs.md.
  if (!testing::OverSoftRdma()) ExpectWhole<uint16_t>(Word(Right(), 2), Word(me, 2));
  ExpectWhole<uint8_t>(Word(Right(), 3), Word(me, 3));
}

// Rule 5: atomics on one word exclude each other, the owner's too, of all kinds.
TEST_F(Litmus, R5AtomicsExcludeEachOther) {
  const auto word = Word(0, 0);
  for (uint64_t i = 0; i < kRounds; ++i) {
    PostAdd(word, 1);
    for (uint64_t seen = *Fetch(word);;) {
      const uint64_t before = *CompareSwap(word, seen, seen + 1);
      if (before == seen) break;
      seen = before;
    }
  }
  ASSERT_OK(Flush());
  ASSERT_OK(TheWorld().Barrier());
  EXPECT_EQ(*Fetch(word), 2 * kRounds * TheWorld().size());
}

// Rule 6: a wait acquires, and what it acquired is passed on: a put to rank 2 is
// seen there after a chain of notifications through rank 1.
TEST_F(Litmus, R6WaitsAcquireAlongAChain) {
  if (TheWorld().size() < 3) return;
  for (uint64_t round = 1; round <= kRounds; ++round) {
    if (TheWorld().rank() == 0) {
      ASSERT_OK(Put(Word(2, 0), round));
      PostNotify(1, *arrived_);
    } else if (TheWorld().rank() == 1) {
      ASSERT_OK(arrived_->Wait(1));
      PostNotify(2, *arrived_);
    } else if (TheWorld().rank() == 2) {
      ASSERT_OK(arrived_->Wait(1));
      ASSERT_EQ(Mine(0), round);
    }
    ASSERT_OK(TheWorld().Barrier());
  }
}

// Rule 7: operations complete while their target computes and calls nothing. It
// stops computing because of what arrived, so waiting for a call would hang.
TEST_F(Litmus, R7TheTargetNeedNotCallIn) {
  if (TheWorld().size() < 2) return;
  volatile uint64_t* const mine = &words_->mine()[0];
  if (TheWorld().rank() == 1) {
    const absl::Time late = absl::Now() + absl::Seconds(60);
    while (__atomic_load_n(mine, __ATOMIC_ACQUIRE) == 0) ASSERT_LT(absl::Now(), late);
  } else if (TheWorld().rank() == 0) {
    ASSERT_OK(Put(Word(1, 1), 1));
    ASSERT_TRUE(FetchAdd(Word(1, 2), 1).ok());
    ASSERT_EQ(*Get(Word(1, 1)), 1u);
    ASSERT_OK(Set(Word(1, 0), 1));
  }
}

// Rule 9: nothing lands in memory after it was given back. (Rule 8 is
// tests/world/death_test.)
TEST_F(Litmus, R9NothingLandsAfterMemoryWasGivenBack) {
  const std::vector<uint64_t> block(1024, 7);
  for (int round = 0; round < 20; ++round) {
    {
      auto lent = Symmetric<uint64_t>::Create(TheWorld(), 1024);
      ASSERT_TRUE(lent.ok()) << lent.status();
      PostPut(lent->at(Right()), block);
      // In half of the rounds Create is what completes the put.
      if (round % 2 == 0) {
        ASSERT_OK(TheWorld().Barrier());
      }
    }
    auto again = Symmetric<uint64_t>::Create(TheWorld(), 1024);
    ASSERT_TRUE(again.ok()) << again.status();
    for (int look = 0; look < 50; ++look) {
      for (uint64_t word : again->mine()) ASSERT_EQ(word, 0u);
    }
    ASSERT_OK(TheWorld().Barrier());
  }
}

TEST_F(Litmus, R9NothingArrivesAtACounterThatIsUsedAgain) {
  for (int round = 0; round < 20; ++round) {
    {
      auto lent = NotificationCounter::Create(TheWorld());
      ASSERT_TRUE(lent.ok()) << lent.status();
      PostPut(Word(Right(), 0), 7, *lent);
    }
    auto again = NotificationCounter::Create(TheWorld());
    ASSERT_TRUE(again.ok()) << again.status();
    for (int look = 0; look < 50; ++look) {
      ASSERT_OK(TheWorld().Barrier());
      ASSERT_EQ(again->Arrived(), 0u);
    }
  }
}

}  // namespace
}  // namespace weft
