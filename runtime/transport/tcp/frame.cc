#include "runtime/transport/tcp/frame.h"

#include <bit>
#include <cstring>

#include "runtime/transport/address.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr int kKindShift = 48;
constexpr int kRideShift = 52;
constexpr int kSegmentShift = 54;
constexpr int kZeroShift = 55;

template <typename T>
T Read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

size_t Words(Op::Kind kind, Ride ride) {
  if (kind == Op::Kind::kCompareSwap) return 2;
  if (IsAtomic(kind)) return kind == Op::Kind::kFetch ? 0 : 1;
  return ride == Ride::kNone ? 0 : ride == Ride::kCounter ? 1 : 2;
}

}  // namespace

size_t RequestFrame::bytes() const { return kMinBytes + 8 * Words(kind, ride); }

void RequestFrame::Encode(std::byte* to) const {
  const uint64_t first = offset | static_cast<uint64_t>(kind) << kKindShift |
                         static_cast<uint64_t>(ride) << kRideShift |
                         static_cast<uint64_t>(segment) << kSegmentShift;
  const uint64_t second = length;
  std::memcpy(to, &first, 8);
  std::memcpy(to + 8, &second, 8);
  const size_t words = Words(kind, ride);
  if (words > 0) std::memcpy(to + 16, &operand, 8);
  if (words > 1) std::memcpy(to + 24, &compare, 8);
}

std::optional<size_t> RequestFrame::BytesOf(std::span<const std::byte, kMinBytes> start) {
  const uint64_t first = Read<uint64_t>(start.data());
  const auto kind = static_cast<Op::Kind>(first >> kKindShift & 0xf);
  const auto ride = static_cast<Ride>(first >> kRideShift & 0x3);
  if (kind > Op::Kind::kXor || first >> kZeroShift != 0) return std::nullopt;
  if (ride != Ride::kNone && kind != Op::Kind::kPut) return std::nullopt;
  if (Read<uint32_t>(start.data() + 12) != 0) return std::nullopt;
  return kMinBytes + 8 * Words(kind, ride);
}

std::optional<RequestFrame> RequestFrame::Decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kMinBytes) return std::nullopt;
  const std::optional<size_t> size = BytesOf(bytes.first<kMinBytes>());
  if (!size || *size != bytes.size()) return std::nullopt;
  const uint64_t first = Read<uint64_t>(bytes.data());
  return RequestFrame{.kind = static_cast<Op::Kind>(first >> kKindShift & 0xf),
                      .ride = static_cast<Ride>(first >> kRideShift & 0x3),
                      .segment = static_cast<Segment::Kind>(first >> kSegmentShift & 0x1),
                      .offset = first & kMaxOffset,
                      .length = Read<uint32_t>(bytes.data() + 8),
                      .operand = *size > 16 ? Read<uint64_t>(bytes.data() + 16) : 0,
                      .compare = *size > 24 ? Read<uint64_t>(bytes.data() + 24) : 0};
}

void ReplyFrame::Encode(std::byte* to) const {
  const uint64_t word = static_cast<uint64_t>(kind) | static_cast<uint64_t>(reason) << 8 |
                        static_cast<uint64_t>(number) << 32;
  std::memcpy(to, &word, 8);
}

std::optional<ReplyFrame> ReplyFrame::Decode(std::span<const std::byte, kBytes> bytes) {
  const uint64_t word = Read<uint64_t>(bytes.data());
  const ReplyFrame frame = {.kind = static_cast<Kind>(word & 0xff),
                            .reason = static_cast<RefusalReason>(word >> 8 & 0xff),
                            .number = static_cast<uint32_t>(word >> 32)};
  if (frame.kind < Kind::kDone || frame.kind > Kind::kRefused || (word >> 16 & 0xffff) != 0) {
    return std::nullopt;
  }
  if (frame.reason > RefusalReason::kUnregistered ||
      (frame.reason != RefusalReason::kNone) != (frame.kind == Kind::kRefused)) {
    return std::nullopt;
  }
  return frame;
}

}  // namespace weft
