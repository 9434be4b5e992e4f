// A small generator (splitmix64) with no state but one word, so that drawing
// from it on the data path costs nothing. Not thread-safe.
#ifndef WEFT_RUNTIME_TRANSPORT_FAULT_RANDOM_H_
#define WEFT_RUNTIME_TRANSPORT_FAULT_RANDOM_H_

#include <cstdint>

namespace weft {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, bound); 0 for a bound of 0.
  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : Next() % bound; }
  bool Chance(double probability) {
    return static_cast<double>(Next() >> 11) * 0x1p-53 < probability;
  }

 private:
  uint64_t state_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_FAULT_RANDOM_H_
