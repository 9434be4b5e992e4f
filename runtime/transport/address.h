// What can be told of an operation before it starts: whether a transport carries it out,
// and the checks of untrusted offsets and lengths against a region.
#ifndef WEFT_RUNTIME_TRANSPORT_ADDRESS_H_
#define WEFT_RUNTIME_TRANSPORT_ADDRESS_H_

#include <cstdint>

#include "runtime/base/control_layout.h"
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
inline bool GoodAddress(const Op& op) {
  const uint64_t size = op.region->length;
  if (!InBounds(op.offset, op.length, size)) return false;
  if (IsAtomic(op.kind)) {
    return (op.length == 4 || op.length == 8) && (op.offset & (op.length - 1)) == 0;
  }
  switch (op.ride) {
    case Ride::kNone:
      return true;
    case Ride::kCounter:
      return op.operand < kMaxCounters;
    case Ride::kSetSignal:
    case Ride::kAddSignal:
      return InBounds(op.compare, 8, size) && op.compare % 8 == 0;
  }
  return false;
}

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_ADDRESS_H_
