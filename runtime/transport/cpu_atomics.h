// The atomics as this host's processors carry them out, on memory that it has mapped.
#ifndef WEFT_RUNTIME_TRANSPORT_CPU_ATOMICS_H_
#define WEFT_RUNTIME_TRANSPORT_CPU_ATOMICS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/transport/transport.h"

namespace weft {

// Carries out the atomic `kind` on the aligned `word` of `length` 4 or 8 bytes; its old value.
// Sequentially consistent. Any thread.
uint64_t AtomicOnCpu(std::byte* word, Op::Kind kind, uint64_t length, uint64_t operand,
                     uint64_t compare);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_CPU_ATOMICS_H_
