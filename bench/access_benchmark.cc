// Single operations on the memory of another rank of the node, each beside what
// the machine does for plain C++ on the same memory.
//   weftrun -n 2 access_benchmark
#include <cstdint>

#include "bench/access_loops.h"
#include "bench/pair_benchmark.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace {

constexpr uint64_t kBlock = 1'000'000;

absl::Status Run(weft::bench::PairSuite& suite) {
  using namespace weft::bench;  // NOLINT(build/namespaces): the loops
  const auto words = WEFT_TRY(weft::Symmetric<uint64_t>::Create(suite.world()));
  const weft::RemotePtr<uint64_t> word = words.at(suite.target());
  uint64_t* const raw = weft::Local(word);
  if (raw == nullptr) return absl::FailedPreconditionError("the last rank is on another node");

  const auto add = [&](const char* figure, auto ours, const char* reference, auto loop) {
    suite.Add({.figure = figure,
               .reference = reference,
               .ours = [=](uint64_t n) { return ours(word, n); },
               .measure_against = [=](uint64_t n) { return loop(raw, n); },
               .operations = kBlock});
  };
  add("put8", PutLoop, "store", StoreLoop);
  add("get8", GetLoop, "load", LoadLoop);
  add("put8_flush", PutFlushLoop, "store+fence", StoreFenceLoop);
  suite.Add({.figure = "put8_rate",
             .reference = "store",
             .ours = [=](uint64_t n) { return PostPutLoop(word, n); },
             .measure_against = [=](uint64_t n) { return StoreLoop(raw, n); },
             .operations = kBlock,
             .rate_unit = "M/s",
             .units_per_operation = 1e-6});
  add("fadd", FetchAddLoop, "std::atomic", AtomicAddLoop);
  add("cas", CompareSwapLoop, "std::atomic", AtomicCompareSwapLoop);
  return suite.Run();
}

}  // namespace

int main(int argc, char** argv) { return weft::bench::PairMain(argc, argv, Run); }
