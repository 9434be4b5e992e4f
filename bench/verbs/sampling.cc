#include "bench/verbs/sampling.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/measure.h"

namespace weft::bench {
namespace {

// Not inlined, so that all turns cost the same.
[[gnu::noinline]] void Spin(uint64_t turns) {
  for (uint64_t i = 0; i < turns; ++i) asm volatile("");
}

double NsOfATurn() {
  constexpr uint64_t kTurns = 100'000;
  const double start = Now();
  Spin(kTurns);
  return (Now() - start) / kTurns;
}

}  // namespace

Sampler::Sampler(int argc, char** argv)
    : Sampler(std::atof(TextFlag(argc, argv, "added").value_or("0").c_str()) / 100,
              /*quiet=*/false) {}

bool Sampler::Measure(const char* name, const Samples& samples, double operations,
                      absl::FunctionRef<bool()> step) const {
  std::vector<double> times;
  uint64_t turns = 0;
  for (uint64_t i = 0; i < samples.all(); ++i) {
    if (i == samples.warmup) {
      if (added_ > 0) turns = static_cast<uint64_t>(Median(times) * added_ / NsOfATurn());
      times.clear();
    }
    const double start = Now();
    if (turns > 0) Spin(turns);
    if (!step()) return false;
    times.push_back(Now() - start);
  }
  if (quiet_) return true;
  std::printf("op=%s ns=%.1f\n", name, Median(times) / operations);
  std::fflush(stdout);
  return true;
}

}  // namespace weft::bench
