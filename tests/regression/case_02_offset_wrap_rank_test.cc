// Case 2: offset + length that wraps. Random addresses and lengths, most of them
// near the edges where sums wrap, against an oracle in 128 bits: what is out of
// the slab is refused and moves nothing, what is inside is done.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "tests/support/rank_test.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::weft::testing::TheWorld;

constexpr uint64_t kSlabBytes = uint64_t{256} << 20;  // The default.
constexpr size_t kBufferBytes = 4096;

// Out of line each operation takes a while.
int Rounds() { return testing::OperationsAreSlow() ? 3'000 : 300'000; }

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}
  // A value near one of `edges`, or anything.
  uint64_t Near(std::initializer_list<uint64_t> edges) {
    if (random_() % 8 == 0) return random_();
    return edges.begin()[random_() % edges.size()] + random_() % 33 - 16;
  }
  Rank AnyRank() {
    const Rank size = TheWorld().size();
    const Rank ranks[] = {0, size - 1, size, size + 1, 65534, static_cast<Rank>(random_() % 65535)};
    return ranks[random_() % std::size(ranks)];
  }

 private:
  std::mt19937_64 random_;
};

bool InSlab(Rank rank, uint64_t offset, uint64_t length) {
  return rank < TheWorld().size() && static_cast<unsigned __int128>(offset) + length <= kSlabBytes;
}

TEST(Case02OffsetWrap, SpansAgainstAnOracle) {
  Generator generator(TheWorld().rank() + 1);
  std::vector<std::byte> buffer(kBufferBytes);
  int inside = 0, outside = 0;
  for (int i = 0; i < Rounds(); ++i) {
    const Rank rank = generator.AnyRank();
    const uint64_t offset = generator.Near({0, 4096, kSlabBytes, kSlabBytes / 2, uint64_t{1} << 47,
                                            uint64_t{1} << 48}) &
                            ((uint64_t{1} << 48) - 1);
    const uint64_t length = generator.Near(
        {0, 64, kSlabBytes, kSlabBytes - offset, uint64_t{1} << 48, uint64_t{1} << 63, 0 - offset});
    const RemotePtr<std::byte> from(rank, offset);
    const bool good = InSlab(rank, offset, length);
    if (good && length > kBufferBytes) continue;
    // Of one that is refused nothing is touched, so that its length may lie.
    const std::span<std::byte> into(buffer.data(), length);
    const absl::Status status = Get(from, into);
    ASSERT_EQ(status.code(), good ? absl::StatusCode::kOk : absl::StatusCode::kOutOfRange)
        << "rank " << rank << " offset " << offset << " length " << length << ": " << status;
    (good ? inside : outside) += 1;
  }
  EXPECT_GT(inside, Rounds() / 100);
  EXPECT_GT(outside, Rounds() / 100);
  ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
}

template <typename T>
void CheckValues(uint64_t seed) {
  Generator generator(seed);
  int inside = 0, outside = 0;
  for (int i = 0; i < Rounds() / 4; ++i) {
    const Rank rank = generator.AnyRank();
    const uint64_t offset = generator.Near({0, kSlabBytes, kSlabBytes - sizeof(T),
                                            uint64_t{1} << 47, uint64_t{1} << 48}) &
                            ((uint64_t{1} << 48) - 1);
    const bool good = InSlab(rank, offset, sizeof(T));
    const RemotePtr<T> at(rank, offset);
    const absl::Status got = Get(at).status();
    ASSERT_EQ(got.code(), good ? absl::StatusCode::kOk : absl::StatusCode::kOutOfRange)
        << "rank " << rank << " offset " << offset << " size " << sizeof(T) << ": " << got;
    if (!good) {
      ASSERT_EQ(Put(at, T{}).code(), absl::StatusCode::kOutOfRange) << rank << " " << offset;
    }
    if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
      const absl::StatusCode code = Fetch(at).status().code();
      if (!good) {
        ASSERT_TRUE(code == absl::StatusCode::kOutOfRange ||
                    (code == absl::StatusCode::kInvalidArgument && offset % sizeof(T) != 0))
            << rank << " " << offset;
      } else {
        ASSERT_EQ(code, offset % sizeof(T) == 0 ? absl::StatusCode::kOk
                                                : absl::StatusCode::kInvalidArgument);
      }
    }
    (good ? inside : outside) += 1;
  }
  EXPECT_GT(inside, 0);
  EXPECT_GT(outside, 0);
}

TEST(Case02OffsetWrap, ValuesAndAtomicsAgainstAnOracle) {
  CheckValues<uint8_t>(1);
  CheckValues<uint16_t>(2);
  CheckValues<uint32_t>(3);
  CheckValues<uint64_t>(4);
  struct Odd {
    char bytes[24];
  };
  CheckValues<Odd>(5);
  ASSERT_EQ(TheWorld().Barrier(), absl::OkStatus());
}

}  // namespace
}  // namespace weft
