#include "bench/pair_benchmark.h"

#include <benchmark/benchmark.h>

#include <optional>
#include <utility>

#include "bench/measure.h"

namespace weft::bench {
namespace {

// In ns an operation, or nothing if one failed.
std::optional<double> TimeBlock(const std::function<bool(uint64_t)>& block, uint64_t operations) {
  const double start = Now();
  const bool done = block(operations);
  const double end = Now();
  if (!done) return std::nullopt;
  return (end - start) / static_cast<double>(operations);
}

void Time(benchmark::State& state, const PairBenchmark& b) {
  // Pages, caches and the clock frequency are the same for both from here on.
  if (!b.ours(b.operations) || !b.measure_against(b.operations)) {
    return state.SkipWithError("an operation failed");
  }
  Pairs pairs;
  for (auto iteration : state) {
    const bool ours_first = pairs.ours.size() % 2 == 0;
    std::optional<double> reference;
    if (!ours_first) reference = TimeBlock(b.measure_against, b.operations);
    const std::optional<double> ours = TimeBlock(b.ours, b.operations);
    if (ours_first) reference = TimeBlock(b.measure_against, b.operations);
    if (!ours || !reference) return state.SkipWithError("an operation failed");
    pairs.ours.push_back(*ours);
    pairs.reference.push_back(*reference);
    state.SetIterationTime(*ours * static_cast<double>(b.operations) / 1e9);
  }
  const Figure figure = b.rate_unit.empty() ? TimeFigure(b.figure, b.reference, pairs)
                                            : RateFigure(b.figure, b.rate_unit,
                                                         b.units_per_operation, b.reference, pairs);
  state.counters["value"] = figure.value;
  state.counters["value_quartile"] = figure.value_quartile;
  state.counters["reference_value"] = figure.reference_value;
  state.counters["ratio"] = figure.ratio;
  state.counters["quartile"] = figure.quartile;
  state.SetLabel("unit=" + figure.unit + " reference=" + figure.reference);
}

}  // namespace

PairSuite::PairSuite(int argc, char** argv, World& world)
    : argc_(argc), argv_(argv), world_(world), pairs_(NumberFlag(argc, argv, "pairs", 41)) {}

void PairSuite::Add(PairBenchmark b) {
  const std::string name = b.figure;
  benchmark::RegisterBenchmark(name.c_str(),
                               [b = std::move(b)](benchmark::State& s) { Time(s, b); })
      ->Iterations(static_cast<benchmark::IterationCount>(pairs_))
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

absl::Status PairSuite::Run() {
  if (world_.rank() == 0) {
    benchmark::Initialize(&argc_, argv_);
    benchmark::RunSpecifiedBenchmarks();
  }
  absl::Status met = world_.Barrier();
  benchmark::ClearRegisteredBenchmarks();
  return met;
}

int PairMain(int argc, char** argv, absl::FunctionRef<absl::Status(PairSuite&)> run) {
  return Main([&](World& world) {
    PairSuite suite(argc, argv, world);
    return run(suite);
  });
}

}  // namespace weft::bench
