// What two ranks say to each other over a connection once they have met: requests one way, replies
// the other. Requests are carried out in their order, so that a reply names none: it is for the
// oldest ones without.
//
//   request: u64 offset (48 bits), kind (4), ride (2), segment (1), 0 | u32 length | u32 0 |
//            u64 operand, where there is one | u64 compare, likewise | a put's data
//   reply:   u8 kind | u8 reason | u16 0 | u32 number | a fetched word, or a get's data
//
// All little-endian. The bytes come from another process: decoding checks what can be told
// without knowing this rank's memory. Plain data and functions; any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_FRAME_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/transport/transport.h"

namespace weft {

struct RequestFrame {
  static constexpr size_t kMinBytes = 16;
  static constexpr size_t kMaxBytes = 32;
  static constexpr uint64_t kMaxOffset = (uint64_t{1} << 48) - 1;

  Op::Kind kind = Op::Kind::kPut;
  Ride ride = Ride::kNone;
  Segment::Kind segment = Segment::Kind::kSlab;  // Or kControl.
  uint64_t offset = 0;
  uint32_t length = 0;  // Of a put's data, which follow; of a get's, which are asked for.
  uint64_t operand = 0;
  uint64_t compare = 0;

  friend bool operator==(const RequestFrame&, const RequestFrame&) = default;

  // How many bytes it takes, without a put's data.
  size_t bytes() const;
  // Writes bytes() to `to`.
  void Encode(std::byte* to) const;
  // How many bytes the frame takes that starts with these kMinBytes; nullopt: it is none.
  static std::optional<size_t> BytesOf(std::span<const std::byte, kMinBytes> start);
  // `bytes` of BytesOf; nullopt for anything that Encode did not make.
  static std::optional<RequestFrame> Decode(std::span<const std::byte> bytes);
};

// Why a request was refused; the connection ends with it.
enum class RefusalReason : uint8_t {
  kNone,
  kMalformed,     // It is no request.
  kOutOfBounds,   // It touches what is not in the segment, or is not aligned.
  kUnregistered,  // There is no such segment.
};

struct ReplyFrame {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kWordBytes = 8;

  enum class Kind : uint8_t {
    kDone = 1,  // `number` puts, of the oldest requests.
    kWord,      // An atomic; its word's old value follows.
    kData,      // A get; `number` bytes follow.
    kRefused,   // The connection ends, for `reason`.
  };

  Kind kind = Kind::kDone;
  RefusalReason reason = RefusalReason::kNone;
  uint32_t number = 0;

  friend bool operator==(const ReplyFrame&, const ReplyFrame&) = default;

  void Encode(std::byte* to) const;
  static std::optional<ReplyFrame> Decode(std::span<const std::byte, kBytes> bytes);
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_FRAME_H_
