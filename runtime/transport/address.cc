#include "runtime/transport/address.h"

#include "runtime/base/control_layout.h"

namespace weft {

bool GoodAddress(const Op& op) {
  const uint64_t size = op.region->length;
  if (!InBounds(op.offset, op.length, size)) return false;
  if (IsAtomic(op.kind)) {
    return (op.length == 4 || op.length == 8) && op.offset % op.length == 0;
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
