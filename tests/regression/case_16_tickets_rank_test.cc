// Case 16: a processor's atomics and a device's on one word do not exclude each other, so
// that two ranks drew the same ticket. Ranks that reach the counter in different ways (its
// owner, one of the owner's node, one of another node) draw tickets; each is drawn once.
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/support/rank_test.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::weft::testing::TheWorld;

constexpr uint64_t kTickets = 1'000'000;

// Until there are no more, or, where that would take too long, every rank has drawn some;
// so that none stops while a slower one draws.
void DrawAll(Rank home) {
  const uint64_t enough = testing::OperationsAreSlow() ? 2'500 : kTickets;
  auto counter = Symmetric<uint64_t>::Create(TheWorld(), 1);
  auto drawn_by = Symmetric<uint8_t>::Create(TheWorld(), kTickets);
  auto draws = Symmetric<uint64_t>::Create(TheWorld(), TheWorld().size());
  auto have_enough = NotificationCounter::Create(TheWorld());
  ASSERT_TRUE(counter.ok() && drawn_by.ok() && draws.ok() && have_enough.ok());

  uint64_t drawn = 0;
  while (have_enough->Arrived() < TheWorld().size()) {
    const absl::StatusOr<uint64_t> ticket = FetchAdd(counter->at(home), 1);
    ASSERT_EQ(ticket.status(), absl::OkStatus());
    if (*ticket >= kTickets) break;
    PostPut(drawn_by->at(home, *ticket), uint8_t{1});
    if (++drawn != enough) continue;
    for (Rank rank = 0; rank < TheWorld().size(); ++rank) PostNotify(rank, *have_enough);
  }
  ASSERT_EQ(Put(draws->at(home, TheWorld().rank()), drawn), absl::OkStatus());
  ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
  if (TheWorld().rank() == home) {
    uint64_t all = 0;
    for (Rank rank = 0; rank < TheWorld().size(); ++rank) all += draws->mine()[rank];
    ASSERT_GE(all, enough);
    ASSERT_LE(all, kTickets) << "some were drawn twice";
    // As many draws as tickets, and each of them drawn: none was drawn twice.
    for (uint64_t t = 0; t < kTickets; ++t) {
      ASSERT_EQ(drawn_by->mine()[t], t < all ? 1 : 0) << "ticket " << t << " of " << all;
    }
  }
  ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
}

TEST(Case16Tickets, AreUniqueAndDense) { DrawAll(0); }

// The last rank is on another node than rank 0, where the ranks believe in several.
TEST(Case16Tickets, WhereverTheCounterIs) { DrawAll(static_cast<Rank>(TheWorld().size() - 1)); }

}  // namespace
}  // namespace weft
