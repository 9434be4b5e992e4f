#include "runtime/engine/emulated_atomics.h"

namespace weft {

EmulatedAtomic::EmulatedAtomic(Op& op)
    : kind_(op.kind),
      offset_(op.offset),
      length_(op.length),
      operand_(op.operand),
      compare_(op.compare),
      shift_(static_cast<int>(op.offset % 8 * 8)),  // Words are little-endian.
      mask_(op.length == 8 ? ~uint64_t{0} : ~uint64_t{0} >> (64 - 8 * op.length)) {
  op.kind = Op::Kind::kFetch;
  op.offset -= op.offset % 8;
  op.length = 8;
}

uint64_t EmulatedAtomic::Apply(uint64_t word) const {
  const uint64_t old = word >> shift_ & mask_;
  uint64_t value = old;
  switch (kind_) {
    case Op::Kind::kFetchAdd:
      value = old + operand_;
      break;
    case Op::Kind::kCompareSwap:
      if (old == (compare_ & mask_)) value = operand_;
      break;
    case Op::Kind::kSwap:
    case Op::Kind::kSet:
      value = operand_;
      break;
    case Op::Kind::kAnd:
      value = old & operand_;
      break;
    case Op::Kind::kOr:
      value = old | operand_;
      break;
    case Op::Kind::kXor:
      value = old ^ operand_;
      break;
    case Op::Kind::kFetch:
    case Op::Kind::kPut:
    case Op::Kind::kGet:
      break;
  }
  return (word & ~(mask_ << shift_)) | (value & mask_) << shift_;
}

bool EmulatedAtomic::Advance(uint64_t word, Op& op) {
  const bool swapped = op.kind == Op::Kind::kCompareSwap && word == op.compare;
  const uint64_t desired = Apply(word);
  // What changes nothing is done by having been read.
  if (swapped || desired == word) {
    old_ = word >> shift_ & mask_;
    Restore(op);
    return true;
  }
  op.kind = Op::Kind::kCompareSwap;
  op.compare = word;
  op.operand = desired;
  return false;
}

void EmulatedAtomic::Restore(Op& op) const {
  op.kind = kind_;
  op.offset = offset_;
  op.length = length_;
  op.operand = operand_;
  op.compare = compare_;
}

}  // namespace weft
