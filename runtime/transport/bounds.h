// The one check of an untrusted offset and length against a region.
#ifndef WEFT_RUNTIME_TRANSPORT_BOUNDS_H_
#define WEFT_RUNTIME_TRANSPORT_BOUNDS_H_

#include <cstdint>

namespace weft {

// Whether [offset, offset + length) lies in [0, size); no sum, so nothing wraps.
constexpr bool InBounds(uint64_t offset, uint64_t length, uint64_t size) {
  return length <= size && offset <= size - length;
}

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_BOUNDS_H_
