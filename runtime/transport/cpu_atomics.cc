#include "runtime/transport/cpu_atomics.h"

#include <atomic>

namespace weft {
namespace {

template <typename T>
uint64_t Update(std::byte* shared, Op::Kind kind, uint64_t operand64, uint64_t compare) {
  const std::atomic_ref<T> word(*reinterpret_cast<T*>(shared));
  const T operand = static_cast<T>(operand64);
  switch (kind) {
    case Op::Kind::kFetchAdd:
      return word.fetch_add(operand);
    case Op::Kind::kCompareSwap: {
      T expected = static_cast<T>(compare);
      word.compare_exchange_strong(expected, operand);
      return expected;
    }
    case Op::Kind::kSwap:
    case Op::Kind::kSet:
      return word.exchange(operand);
    case Op::Kind::kAnd:
      return word.fetch_and(operand);
    case Op::Kind::kOr:
      return word.fetch_or(operand);
    case Op::Kind::kXor:
      return word.fetch_xor(operand);
    case Op::Kind::kFetch:
    case Op::Kind::kPut:
    case Op::Kind::kGet:
      break;
  }
  return word.load();
}

}  // namespace

uint64_t AtomicOnCpu(std::byte* word, Op::Kind kind, uint64_t length, uint64_t operand,
                     uint64_t compare) {
  return length == 4 ? Update<uint32_t>(word, kind, operand, compare)
                     : Update<uint64_t>(word, kind, operand, compare);
}

}  // namespace weft
