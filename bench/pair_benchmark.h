// Google Benchmark for pairs: each iteration times a block of ours and a block of
// the reference, one right after the other, and the figure is made from the
// ratios of the pairs. A benchmark's counters hold what tools/bench reads from
// its JSON: the numbers of the Figure.
#ifndef WEFT_BENCH_PAIR_BENCHMARK_H_
#define WEFT_BENCH_PAIR_BENCHMARK_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "weft/weft.h"

namespace weft::bench {

struct PairBenchmark {
  std::string figure;
  std::string reference;
  // Each runs a block of so many operations; false: one failed.
  std::function<bool(uint64_t operations)> ours;
  std::function<bool(uint64_t operations)> measure_against;
  uint64_t operations;  // A block.
  // Empty: the figure is the time of an operation in ns.
  std::string rate_unit = "";
  double units_per_operation = 0;
};

class PairSuite {
 public:
  PairSuite(int argc, char** argv, World& world);

  World& world() { return world_; }
  // The last rank, whose memory is worked on: this rank itself when it is alone.
  Rank target() const { return world_.size() - 1; }

  void Add(PairBenchmark benchmark);
  // Collective. Rank 0 runs what it has added while the others sleep.
  absl::Status Run();

 private:
  int argc_;
  char** argv_;
  World& world_;
  uint64_t pairs_;
};

// The main of such a program. Flags: Google Benchmark's, and --pairs=N.
int PairMain(int argc, char** argv, absl::FunctionRef<absl::Status(PairSuite&)> run);

}  // namespace weft::bench
#endif  // WEFT_BENCH_PAIR_BENCHMARK_H_
