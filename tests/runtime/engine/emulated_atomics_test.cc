// Emulated atomics against what they stand for, while others write to the same word.
#include "runtime/engine/emulated_atomics.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace weft {
namespace {

// One step of an 8-byte device.
uint64_t Carry(const Op& step, unsigned char* memory) {
  uint64_t word;
  std::memcpy(&word, memory + step.offset, 8);
  if (step.kind == Op::Kind::kCompareSwap && word == step.compare) {
    std::memcpy(memory + step.offset, &step.operand, 8);
  }
  return word;
}

template <typename T>
T Wanted(Op::Kind kind, T old, T operand, T compare) {
  switch (kind) {
    case Op::Kind::kFetchAdd:
      return static_cast<T>(old + operand);
    case Op::Kind::kCompareSwap:
      return old == compare ? operand : old;
    case Op::Kind::kSwap:
    case Op::Kind::kSet:
      return operand;
    case Op::Kind::kAnd:
      return old & operand;
    case Op::Kind::kOr:
      return old | operand;
    case Op::Kind::kXor:
      return old ^ operand;
    default:
      return old;
  }
}

template <typename T>
void Check(uint64_t seed) {
  std::mt19937_64 random(seed);
  const Op::Kind kinds[] = {Op::Kind::kFetchAdd, Op::Kind::kCompareSwap, Op::Kind::kSwap,
                            Op::Kind::kFetch,    Op::Kind::kSet,         Op::Kind::kAnd,
                            Op::Kind::kOr,       Op::Kind::kXor};
  alignas(8) unsigned char memory[24] = {};
  for (int i = 0; i < 2000; ++i) {
    const uint64_t offset = 8 + (sizeof(T) == 4 ? random() % 2 * 4 : 0);
    T old;
    std::memcpy(&old, memory + offset, sizeof(T));
    const T operand = static_cast<T>(random());
    const T compare = random() % 2 == 0 ? old : static_cast<T>(random());
    Op op = {.kind = kinds[random() % 8],
             .offset = offset,
             .length = sizeof(T),
             .operand = operand,
             .compare = compare};
    const Op wanted = op;
    EmulatedAtomic emulated(op);
    int interference = static_cast<int>(random() % 3);
    int steps = 0;
    for (;;) {
      ASSERT_LT(++steps, 10);
      ASSERT_EQ(op.offset, 8u);
      ASSERT_EQ(op.length, 8u);
      const uint64_t word = Carry(op, memory);
      if (emulated.Advance(word, op)) break;
      // Another changes the word before the next step.
      if (interference-- > 0) {
        old = static_cast<T>(old + 12345);
        std::memcpy(memory + offset, &old, sizeof(T));
      }
    }
    T now;
    std::memcpy(&now, memory + offset, sizeof(T));
    ASSERT_EQ(now, Wanted<T>(wanted.kind, old, operand, compare));
    ASSERT_EQ(emulated.old(), old);
    ASSERT_EQ(op.kind, wanted.kind);
    ASSERT_EQ(op.offset, wanted.offset);
    ASSERT_EQ(op.length, wanted.length);
  }
  // The neighbours are as they were.
  for (int i = 0; i < 8; ++i) ASSERT_EQ(memory[i] | memory[16 + i], 0);
}

TEST(EmulatedAtomic, OfEightBytes) { Check<uint64_t>(1); }
TEST(EmulatedAtomic, OfFourBytes) { Check<uint32_t>(2); }

}  // namespace
}  // namespace weft
