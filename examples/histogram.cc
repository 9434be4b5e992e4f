// Random updates of a table that is spread over all ranks, as in the HPCC
// RandomAccess benchmark: each update adds 1 to a random word of a random rank.
// Afterwards each rank replays all ranks' updates by itself and compares, word by
// word, so that a single lost or misplaced update is found.
//   weftrun -n 4 histogram
#include <chrono>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/options.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace {

constexpr char kUsage[] =
    "usage: histogram [--table-bytes N] [--updates N] [--seed N]\n"
    "  --table-bytes N   bytes of the table on each rank (default 8M)\n"
    "  --updates N       updates that each rank makes (default 4M)\n"
    "  --seed N          of the random numbers (default 1)\n";

struct Options {
  uint64_t table_bytes = 8 << 20;
  uint64_t updates = 4 << 20;
  uint64_t seed = 1;
  bool help = false;
};

absl::StatusOr<Options> ParseOptions(int argc, char** argv) {
  Options options;
  examples::OptionParser parser;
  parser.AddNumber("--table-bytes", &options.table_bytes, sizeof(uint64_t));
  parser.AddNumber("--updates", &options.updates, 1);
  parser.AddNumber("--seed", &options.seed, 0);
  parser.AddFlag("--help", &options.help);
  WEFT_TRY(parser.Parse(argc, argv));
  return options;
}

// The words that one rank updates (SplitMix64): a place is drawn from all words
// of all ranks.
class UpdateStream {
 public:
  UpdateStream(uint64_t seed, weft::Rank rank, uint64_t words_per_rank, weft::Rank ranks)
      : state_(Mix(seed + Mix(rank + 1))), words_per_rank_(words_per_rank), ranks_(ranks) {}

  struct Place {
    weft::Rank rank;
    uint64_t word;
  };
  Place Next() {
    const uint64_t random = Mix(state_ += 0x9e3779b97f4a7c15);
    return {static_cast<weft::Rank>(Scale(random >> 32, ranks_)),
            Scale(random & 0xffffffff, words_per_rank_)};
  }

 private:
  static uint64_t Mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  // From 32 random bits to 0 .. bound - 1.
  static uint64_t Scale(uint64_t bits, uint64_t bound) { return bits * bound >> 32; }

  uint64_t state_;
  uint64_t words_per_rank_;
  weft::Rank ranks_;
};

// What this rank's part of the table must hold in the end.
std::vector<uint64_t> Replay(const weft::World& world, const Options& options, uint64_t words) {
  std::vector<uint64_t> expected(words);
  for (weft::Rank rank = 0; rank < world.size(); ++rank) {
    UpdateStream stream(options.seed, rank, words, world.size());
    for (uint64_t i = 0; i < options.updates; ++i) {
      const auto [owner, word] = stream.Next();
      if (owner == world.rank()) ++expected[word];
    }
  }
  return expected;
}

// Has all ranks' memory committed and mapped here, which the first access to a page
// does, and which takes longer than an update.
void Touch(const weft::Symmetric<uint64_t>& table, weft::Rank ranks) {
  constexpr uint64_t kWordsPerPage = 4096 / sizeof(uint64_t);
  for (weft::Rank rank = 0; rank < ranks; ++rank) {
    for (uint64_t word = 0; word < table.size(); word += kWordsPerPage) {
      weft::PostAdd(table.at(rank, word), 0);
    }
  }
}

absl::Status Run(weft::World& world, const Options& options) {
  const uint64_t words = options.table_bytes / sizeof(uint64_t);
  auto table = WEFT_TRY(weft::Symmetric<uint64_t>::Create(world, words));
  auto total = WEFT_TRY(weft::Symmetric<uint64_t>::Create(world));

  Touch(table, world.size());
  WEFT_TRY(world.Barrier());
  const auto start = std::chrono::steady_clock::now();
  UpdateStream stream(options.seed, world.rank(), words, world.size());
  for (uint64_t i = 0; i < options.updates; ++i) {
    const auto [owner, word] = stream.Next();
    weft::PostAdd(table.at(owner, word), 1);
  }
  WEFT_TRY(world.Barrier());  // Flushes: all updates of all ranks are in the table.
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  const std::vector<uint64_t> expected = Replay(world, options, words);
  for (uint64_t word = 0; word < words; ++word) {
    if (table.mine()[word] != expected[word]) {
      return absl::InternalError(absl::StrCat("word ", word, " of rank ", world.rank(), " is ",
                                              table.mine()[word], " after ", expected[word],
                                              " updates"));
    }
  }
  const auto mine = table.mine();
  weft::PostAdd(total.at(0), std::accumulate(mine.begin(), mine.end(), uint64_t{0}));
  WEFT_TRY(world.Barrier());
  if (world.rank() != 0) return absl::OkStatus();

  const uint64_t updates = options.updates * world.size();
  const uint64_t counted = WEFT_TRY(weft::Fetch(total.at(0)));
  if (counted != updates) {
    return absl::InternalError(absl::StrCat("the table counts ", counted, " updates of ", updates));
  }
  absl::PrintF("verified: %d random updates of a table of %d words\n", updates,
               words * world.size());
  absl::PrintF("update rate: %.0f updates/s with %d rank%s\n",
               static_cast<double>(updates) / seconds.count(), world.size(),
               world.size() == 1 ? "" : "s");
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  return weft::Main([&](weft::World& world) {
    const auto options = ParseOptions(argc, argv);
    // All ranks have the same arguments: one of them speaks about them.
    if (!options.ok()) return world.rank() == 0 ? options.status() : absl::OkStatus();
    if (options->help) {
      if (world.rank() == 0) absl::PrintF("%s", kUsage);
      return absl::OkStatus();
    }
    return Run(world, *options);
  });
}
