// The atomics that a transport lacks, made of those that every one has: fetch and
// compare-swap of aligned 8-byte words, in the same domain, so that they exclude
// each other. A 4-byte atomic owns its aligned 8 bytes, which makes it possible.
//
// A value: guarded by who holds it.
#ifndef WEFT_RUNTIME_ENGINE_EMULATED_ATOMICS_H_
#define WEFT_RUNTIME_ENGINE_EMULATED_ATOMICS_H_

#include <cstdint>

#include "runtime/transport/transport.h"

namespace weft {

class EmulatedAtomic {
 public:
  // Makes `op`, an atomic in bounds, its own first step.
  explicit EmulatedAtomic(Op& op);

  // Given the word that the step returned: whether all is done, and `op` is the wanted
  // one again; else it is the next step.
  bool Advance(uint64_t word, Op& op);

  // Makes `op` the wanted one again, where it ends otherwise.
  void Restore(Op& op) const;

  // When all is done, the old value, of the wanted length.
  uint64_t old() const { return old_; }

 private:
  // What the wanted operation makes of `word`.
  uint64_t Apply(uint64_t word) const;

  Op::Kind kind_;
  uint64_t offset_;
  uint64_t length_;
  uint64_t operand_;
  uint64_t compare_;
  int shift_;      // Of the wanted bytes in their word, in bits.
  uint64_t mask_;  // Of the wanted length.
  uint64_t old_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_ENGINE_EMULATED_ATOMICS_H_
