// What can be told of an operation before it starts: whether a transport carries it out,
// and the checks of untrusted offsets and lengths against a region.
#ifndef WEFT_RUNTIME_TRANSPORT_ADDRESS_H_
#define WEFT_RUNTIME_TRANSPORT_ADDRESS_H_

#include <cstdint>

#include "runtime/transport/transport.h"

namespace weft {

constexpr bool IsAtomic(Op::Kind kind) { return kind != Op::Kind::kPut && kind != Op::Kind::kGet; }

// Whether a transport with `atomics` carries that out itself.
constexpr bool CarriesOut(Transport::Atomics atomics, Op::Kind kind, uint64_t length) {
  if (!IsAtomic(kind) || atomics == Transport::Atomics::kAll) return true;
  return length == 8 && (kind == Op::Kind::kFetchAdd || kind == Op::Kind::kFetch ||
                         kind == Op::Kind::kCompareSwap);
}

// Whether [offset, offset + length) lies in [0, size); no sum, so nothing wraps.
constexpr bool InBounds(uint64_t offset, uint64_t length, uint64_t size) {
  return length <= size && offset <= size - length;
}

// Whether all that `op` touches lies in its region, aligned where it must be.
bool GoodAddress(const Op& op);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_ADDRESS_H_
