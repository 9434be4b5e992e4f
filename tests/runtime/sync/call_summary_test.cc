// Summaries of calls: combined in any order, of sets that overlap, they say what a
// look at all calls says.
#include "runtime/sync/call_summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace weft {
namespace {

struct Called {
  CollectiveCall call;
  AgreementBitmap bitmap;
};

// What all ranks in `set` called, looked at one by one.
CallSummary LookAtAll(const std::vector<Called>& calls, const std::vector<bool>& set) {
  CallSummary direct;
  direct.bitmaps.all.fill(~uint64_t{0});
  direct.bitmaps.any.fill(0);
  for (size_t rank = 0; rank < calls.size(); ++rank) {
    if (!set[rank]) continue;
    if (direct.first == CallSummary::kNobody) {
      direct.first = rank;
      direct.call = calls[rank].call;
    } else if (direct.odd == CallSummary::kNobody && calls[rank].call != direct.call) {
      direct.odd = rank;
      direct.odd_call = calls[rank].call;
    }
    for (size_t i = 0; i < calls[rank].bitmap.size(); ++i) {
      direct.bitmaps.all[i] &= calls[rank].bitmap[i];
      direct.bitmaps.any[i] |= calls[rank].bitmap[i];
    }
  }
  return direct;
}

void ExpectEqual(const CallSummary& actual, const CallSummary& expected) {
  EXPECT_EQ(actual.first, expected.first);
  EXPECT_EQ(actual.call, expected.call);
  EXPECT_EQ(actual.odd, expected.odd);
  EXPECT_EQ(actual.Verdict(), expected.Verdict());
  EXPECT_EQ(actual.bitmaps.all, expected.bitmaps.all);
  EXPECT_EQ(actual.bitmaps.any, expected.bitmaps.any);
}

TEST(CallSummary, IsTheSameHoweverItIsPutTogether) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    const size_t size = 1 + random() % 8;
    std::vector<Called> calls(size);
    const uint64_t kinds = 1 + random() % 3;
    for (Called& called : calls) {
      called.call = {.kind = CollectiveKind::kCreateSymmetric, .arguments = {random() % kinds, 8}};
      for (uint64_t& word : called.bitmap) word = random() | random();
    }
    // Parts that are summaries of some ranks each, added to each other by chance.
    struct Part {
      CallSummary summary;
      std::vector<bool> set;
    };
    std::vector<Part> parts;
    for (size_t rank = 0; rank < size; ++rank) {
      Part part = {CallSummary::Of(rank, calls[rank].call, calls[rank].bitmap),
                   std::vector<bool>(size)};
      part.set[rank] = true;
      parts.push_back(part);
    }
    for (int step = 0; step < 20; ++step) {
      Part& to = parts[random() % size];
      const Part from = parts[random() % size];
      to.summary.Add(from.summary);
      for (size_t rank = 0; rank < size; ++rank) to.set[rank] = to.set[rank] || from.set[rank];
      ExpectEqual(to.summary, LookAtAll(calls, to.set));
      if (HasFailure()) return;
    }
  }
}

TEST(CallSummary, TheVerdictNamesTheLowestThatDiffers) {
  const CollectiveCall counter = {.kind = CollectiveKind::kCreateCounter};
  CallSummary all = CallSummary::Of(2, {}, {});
  EXPECT_TRUE(all.Verdict().ok());
  all.Add(CallSummary::Of(1, {}, {}));
  all.Add(CallSummary::Of(0, counter, {}));
  EXPECT_EQ(all.Verdict().message(),
            "collective calls do not match: rank 1 called Barrier(), rank 0 called "
            "NotificationCounter::Create(); all ranks must make the same collective calls in the "
            "same order");
}

}  // namespace
}  // namespace weft
