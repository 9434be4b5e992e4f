// How both sides of `tools/bench verbs` time: the raw probe and the program on Weft are
// separate processes that run the same loop over what differs.
//
// In the counted mode of tools/rdma-vm a nanosecond is an instruction.
#ifndef WEFT_BENCH_VERBS_SAMPLING_H_
#define WEFT_BENCH_VERBS_SAMPLING_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"

namespace weft::bench {

// A batch must be over in well under the 4 ms after which the kernel lets another process run.
inline constexpr uint64_t kRateDepth = 64;
inline constexpr size_t kMediumBytes = 64 * 1024;
inline constexpr uint64_t kMediumBatch = 4;
inline constexpr size_t kLargeBytes = 1024 * 1024;

// How many times a step is carried out: those that warm up, then those that count.
struct Samples {
  uint64_t warmup;
  uint64_t kept;
  uint64_t all() const { return warmup + kept; }
};
inline constexpr Samples kSingle = {.warmup = 20, .kept = 200};
inline constexpr Samples kBatch = {.warmup = 4, .kept = 24};

class Sampler {
 public:
  // --added=PERCENT: the control, which runs so many instructions more than a step takes.
  Sampler(int argc, char** argv);
  // For one of two that take turns in a step: each adds half. A quiet one prints nothing.
  Sampler OfTwo(bool quiet) const { return Sampler(added_ / 2, quiet); }

  // Times each `step`, which carries out `operations` of them, and prints
  // `op=<name> ns=<an operation's median>`. False: a step returned false.
  bool Measure(const char* name, const Samples& samples, double operations,
               absl::FunctionRef<bool()> step) const;

 private:
  Sampler(double added, bool quiet) : added_(added), quiet_(quiet) {}

  const double added_;  // A fraction.
  const bool quiet_;
};

}  // namespace weft::bench
#endif  // WEFT_BENCH_VERBS_SAMPLING_H_
