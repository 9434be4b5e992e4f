#include "runtime/transport/fault/fault_options.h"

#include <cstddef>

#include "runtime/transport/fault/random.h"

namespace weft {
namespace {

template <typename T, size_t n>
T Pick(Random& random, const T (&choices)[n]) {
  return choices[random.Below(n)];
}

}  // namespace

FaultOptions FaultOptions::FromSeed(uint64_t seed) {
  Random random(seed);
  FaultOptions options = {.seed = random.Next()};
  options.max_delay_ns = Pick<int64_t>(random, {0, 5'000, 50'000, 300'000});
  options.min_delay_ns = options.max_delay_ns / 4;
  options.at_once = Pick(random, {0.0, 0.3, 0.9});
  options.split = Pick(random, {0.0, 0.5, 1.0});
  options.late_event = Pick(random, {0.0, 0.5});
  options.refuse = Pick(random, {0.0, 0.1, 0.6});
  options.capacity = Pick<uint32_t>(random, {1, 3, 16, 64});
  options.max_length = Pick<uint64_t>(random, {UINT64_MAX, 100'000});
  return options;
}

}  // namespace weft
