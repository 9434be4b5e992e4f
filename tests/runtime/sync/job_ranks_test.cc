// The rendezvous by messages, with a thread or a process a rank, over each transport,
// bare and made worse: nobody passes before all have arrived, what was put before is
// there afterwards, and all come to the same verdict.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/sync/agreement.h"
#include "runtime/sync/job_rendezvous.h"
#include "tests/conformance/fabric.h"
#include "tests/support/stumble.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 64 * 1024;
constexpr Rank kSizes[] = {2, 3, 4, 5, 7, 8, 16};
constexpr CollectiveCall kCreateCounter = {.kind = CollectiveKind::kCreateCounter};

CollectiveCall CreateSymmetric(uint64_t count) {
  return {.kind = CollectiveKind::kCreateSymmetric, .arguments = {count, 8}};
}

class JobRanks : public ::testing::TestWithParam<Fabric> {
 protected:
  // Rounds in which so many ranks take a bearable time.
  uint64_t Rounds(Rank size, uint64_t bare) const {
    return (GetParam().bare ? bare : bare / 20) / size;
  }
};
INSTANTIATE_TEST_SUITE_P(Fabrics, JobRanks, ::testing::ValuesIn(Fabrics()),
                         [](const auto& info) { return info.param.name; });

Agreement MakeAgreement(EngineRank& rank) {
  Engine& engine = rank.engine();
  const Progress progress = {.step = [&engine] { engine.Progress(); }, .every_ns = 100'000};
  return Agreement(std::make_unique<JobRendezvous>(rank.node(), engine, progress), rank.rank());
}

// Barriers in which each rank puts a word to the next one before, and finds that of the
// one before it after.
void CheckBarriers(EngineRank& rank, uint64_t rounds, absl::Duration patience) {
  Agreement agreement = MakeAgreement(rank);
  std::minstd_rand random(rank.rank() + 1);
  const auto slot = [](uint64_t round) { return round % 2 * sizeof(uint64_t); };
  for (uint64_t round = 1; round <= rounds; ++round) {
    Stumble(random);
    const Rank next = static_cast<Rank>((rank.rank() + 1) % rank.size());
    rank.engine().Post(
        {.peer = next, .offset = slot(round), .source = &round, .length = sizeof(round)},
        EngineRank::Soon());
    ASSERT_TRUE(rank.engine().FlushAll(EngineRank::Soon()).ok());
    rank.word(rank.rank()).store(round, std::memory_order_relaxed);
    absl::Status status;
    do status = agreement.Barrier(Deadline::After(patience));
    while (absl::IsDeadlineExceeded(status) && patience < absl::Seconds(1));
    ASSERT_TRUE(status.ok()) << status;
    for (Rank r = 0; r < rank.size(); ++r) {
      const uint64_t theirs = rank.word(r).load(std::memory_order_relaxed);
      ASSERT_TRUE(theirs == round || theirs == round + 1)
          << "rank " << r << " is in round " << theirs << " of " << round;
    }
    ASSERT_EQ(*reinterpret_cast<const uint64_t*>(rank.slab() + slot(round)), round);
  }
}

TEST_P(JobRanks, NobodyPassesBeforeAllHaveArrived) {
  for (const Rank size : kSizes) {
    RunOnEngines(GetParam(), size, kSlabBytes, [&](EngineRank& rank) {
      CheckBarriers(rank, Rounds(size, 10'000), absl::Minutes(1));
    });
  }
}

// Late wherever it can be, and called again.
TEST_P(JobRanks, LateAllTheTimeLosesNothing) {
  for (const Rank size : {2, 5}) {
    RunOnEngines(GetParam(), size, kSlabBytes, [&](EngineRank& rank) {
      CheckBarriers(rank, Rounds(size, 2'000), absl::Microseconds(20));
    });
  }
}

TEST_P(JobRanks, EveryRankComesToTheSameVerdict) {
  for (const Rank size : kSizes) {
    RunOnEngines(GetParam(), size, kSlabBytes, [&](EngineRank& rank) {
      Agreement agreement = MakeAgreement(rank);
      std::minstd_rand random(rank.rank() + 1);
      const uint64_t calls = Rounds(size, 4'000);
      for (uint64_t i = 0; i < calls; ++i) {
        Stumble(random);
        const bool wrong = i % 7 == 0;
        const bool odd_one_out = wrong && rank.rank() == i % size;
        const auto bitmap_of = [i](Rank r) {
          AgreementBitmap bitmap;
          for (size_t w = 0; w < bitmap.size(); ++w) bitmap[w] = (i + w) * 0x9e3779b97f4a7c15 << r;
          return bitmap;
        };
        absl::Status status;
        if (i % 2 == 0) {
          status = odd_one_out ? agreement.Agree(kCreateCounter, {}, EngineRank::Soon()).status()
                               : agreement.Barrier(EngineRank::Soon());
        } else {
          const auto agreed = agreement.Agree(CreateSymmetric(odd_one_out ? 0 : i),
                                              bitmap_of(rank.rank()), EngineRank::Soon());
          status = agreed.status();
          AgreementBitmap all = bitmap_of(0), any = all;
          for (Rank r = 1; r < size; ++r) {
            for (size_t w = 0; w < all.size(); ++w) {
              all[w] &= bitmap_of(r)[w];
              any[w] |= bitmap_of(r)[w];
            }
          }
          if (status.ok()) {
            ASSERT_EQ(agreed->all, all);
            ASSERT_EQ(agreed->any, any);
          }
        }
        if (!wrong) {
          ASSERT_TRUE(status.ok()) << "call " << i << ": " << status;
          continue;
        }
        // Who differs from rank 0, lowest first.
        const uint64_t named = i % size == 0 ? 1 : i % size;
        ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << "call " << i;
        ASSERT_NE(status.message().find("do not match: rank " + std::to_string(named) + " called"),
                  std::string::npos)
            << "call " << i << ": " << status;
      }
    });
  }
}

TEST_P(JobRanks, EverySurvivorNamesARankThatDies) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    const Rank size = static_cast<Rank>(2 + seed % 4);
    const Rank victim = static_cast<Rank>(seed % size);
    RunOnEngines(GetParam(), size, kSlabBytes, [&](EngineRank& rank) {
      Agreement agreement = MakeAgreement(rank);
      std::minstd_rand random(seed * 100 + rank.rank());
      absl::Status status;
      for (uint64_t round = 0; status.ok(); ++round) {
        Stumble(random);
        if (rank.rank() == victim && round == 20 + seed) rank.Die();
        status = agreement.Barrier(EngineRank::Soon());
      }
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_NE(
          status.message().find("rank " + std::to_string(victim) + " died: killed by signal 9"),
          std::string::npos)
          << status;
      EXPECT_EQ(agreement.Barrier(EngineRank::Soon()), status);
    });
  }
}

// A transport that loses peers which are alive, as the membership has it: whoever is told
// names the peer, and no call hangs.
TEST(JobRanksOfALossyTransport, EndAtTheLatestAtTheirDeadline) {
  for (const Fabric& bare : BareFabrics()) {
    const Fabric lossy = bare.With({.max_delay_ns = 20'000, .kill = 0.01});
    RunOnEngines(lossy, 4, kSlabBytes, [&](EngineRank& rank) {
      Agreement agreement = MakeAgreement(rank);
      absl::Status status;
      while (status.ok()) status = agreement.Barrier(Deadline::After(absl::Milliseconds(300)));
      if (absl::IsUnavailable(status)) {
        EXPECT_NE(status.message().find("cannot be reached any more"), std::string::npos) << status;
      } else {
        EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
      }
    });
  }
}

}  // namespace
}  // namespace weft
