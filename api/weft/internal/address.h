// An address of the global heap in one word, as a RemotePtr holds it: rank + 1 in
// the top 16 bits, so that 0 is null, and the offset in that rank's slab below.
#ifndef WEFT_INTERNAL_ADDRESS_H_
#define WEFT_INTERNAL_ADDRESS_H_

#include <cstdint>

#include "weft/rank.h"

namespace weft::internal {

inline constexpr int kOffsetBits = 48;
inline constexpr uint64_t kOffsetMask = (uint64_t{1} << kOffsetBits) - 1;

constexpr uint64_t EncodeAddress(Rank rank, uint64_t offset) {
  return uint64_t{rank + 1} << kOffsetBits | (offset & kOffsetMask);
}
constexpr Rank RankOf(uint64_t bits) { return static_cast<Rank>(bits >> kOffsetBits) - 1; }
constexpr uint64_t OffsetOf(uint64_t bits) { return bits & kOffsetMask; }

}  // namespace weft::internal
#endif  // WEFT_INTERNAL_ADDRESS_H_
