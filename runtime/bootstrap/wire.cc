#include "runtime/bootstrap/wire.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_format.h"
#include "runtime/base/job_secret.h"
#include "runtime/bootstrap/bootstrap.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kMagic = 0x54464557;  // "WEFT"

struct Header {
  uint32_t magic;
  uint16_t version;
  uint8_t type;
  uint8_t reserved;
  uint32_t id;
  uint32_t text_bytes;
  uint32_t value_bytes;
  uint32_t reserved_too;
  uint64_t first;
  uint64_t second;
};
static_assert(sizeof(Header) == kWireHeaderBytes);

// What a type may carry. A number that a type does not use must be 0.
struct Shape {
  size_t min_text = 0;
  size_t max_text = 0;
  size_t max_value = 0;
  uint64_t max_first = 0;
  uint64_t max_second = 0;
};

// False: no such type.
bool ShapeOf(WireMessage::Type type, Shape& shape) {
  using Type = WireMessage::Type;
  switch (type) {
    case Type::kJoin:
    case Type::kFence:
    case Type::kMissing:
    case Type::kLeave:
      shape = {};
      return true;
    case Type::kShareMemory:
      shape = {.max_first = UINT64_MAX, .max_second = UINT64_MAX};
      return true;
    case Type::kPut:
      shape = {.min_text = 1,
               .max_text = Bootstrap::kMaxKeyBytes,
               .max_value = Bootstrap::kMaxValueBytes};
      return true;
    case Type::kGet:
      shape = {.min_text = 1, .max_text = Bootstrap::kMaxKeyBytes};
      return true;
    case Type::kAbort:
      shape = {.max_text = kMaxWireTextBytes, .max_first = UINT32_MAX};
      return true;
    case Type::kAcknowledge:
      shape = {.max_first = UINT32_MAX};
      return true;
    case Type::kAccuse:
      shape = {.max_text = kMaxWireTextBytes, .max_first = kMaxRanks - 1};
      return true;
    case Type::kContinue:
      shape = {.max_value = Bootstrap::kMaxResultBytes,
               .max_first = UINT32_MAX,
               .max_second = UINT64_MAX};
      return true;
    case Type::kContinued:
      shape = {.max_value = Bootstrap::kMaxValueBytes,
               .max_first = UINT64_MAX,
               .max_second = UINT32_MAX};
      return true;
    case Type::kWelcome:
      shape = {.max_value = sizeof(JobSecret), .max_first = kMaxRanks - 1, .max_second = kMaxRanks};
      return true;
    case Type::kMemory:
      shape = {.max_first = kMaxRanks};
      return true;
    case Type::kStatus:
      shape = {.max_text = kMaxWireTextBytes,
               .max_first = static_cast<uint64_t>(absl::StatusCode::kUnauthenticated)};
      return true;
    case Type::kValue:
      shape = {.max_value = Bootstrap::kMaxValueBytes};
      return true;
    case Type::kDeath:
      shape = {.max_first = kMaxRanks - 1};
      return true;
  }
  return false;
}

}  // namespace

std::string EncodeWire(const WireMessage& message) {
  const size_t text_bytes = std::min(message.text.size(), kMaxWireTextBytes);
  const Header header = {.magic = kMagic,
                         .version = message.version,
                         .type = static_cast<uint8_t>(message.type),
                         .reserved = 0,
                         .id = message.id,
                         .text_bytes = static_cast<uint32_t>(text_bytes),
                         .value_bytes = static_cast<uint32_t>(message.value.size()),
                         .reserved_too = 0,
                         .first = message.first,
                         .second = message.second};
  std::string datagram(reinterpret_cast<const char*>(&header), sizeof(header));
  datagram.append(message.text, 0, text_bytes);
  datagram.append(message.value);
  return datagram;
}

absl::StatusOr<WireMessage> DecodeWire(std::string_view datagram) {
  Header header = {};
  datagram.copy(reinterpret_cast<char*>(&header), sizeof(header));
  constexpr size_t kFrozenBytes = offsetof(Header, id);
  if (datagram.size() < kFrozenBytes || header.magic != kMagic) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%d bytes that are no message of Weft (version %d of its protocol is spoken here)",
        datagram.size(), kWireVersion));
  }
  if (header.version != kWireVersion) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "a message of version %d of Weft's bootstrap protocol, but version %d is spoken here: use "
        "a weftrun and a program of the same build of Weft",
        header.version, kWireVersion));
  }
  if (datagram.size() < sizeof(header)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "a message of %d bytes, shorter than its header of %d", datagram.size(), sizeof(header)));
  }
  WireMessage message = {.type = static_cast<WireMessage::Type>(header.type),
                         .version = header.version,
                         .id = header.id,
                         .first = header.first,
                         .second = header.second};
  Shape shape;
  if (!ShapeOf(message.type, shape)) {
    return absl::InvalidArgumentError(absl::StrFormat("a message of unknown type %d", header.type));
  }
  const size_t expected = sizeof(header) + size_t{header.text_bytes} + header.value_bytes;
  if (datagram.size() != expected || header.text_bytes < shape.min_text ||
      header.text_bytes > shape.max_text || header.value_bytes > shape.max_value) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "a message of type %d and %d bytes with %d of text (%d to %d allowed) and %d of value (up "
        "to %d allowed)",
        header.type, datagram.size(), header.text_bytes, shape.min_text, shape.max_text,
        header.value_bytes, shape.max_value));
  }
  if (header.first > shape.max_first || header.second > shape.max_second || header.reserved != 0 ||
      header.reserved_too != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "a message of type %d whose numbers %d and %d are not within %d and %d", header.type,
        header.first, header.second, shape.max_first, shape.max_second));
  }
  message.text = datagram.substr(sizeof(header), header.text_bytes);
  message.value = datagram.substr(sizeof(header) + header.text_bytes);
  return message;
}

uint32_t WireId(std::string_view datagram) {
  uint32_t id = 0;
  constexpr size_t kAt = offsetof(Header, id);
  if (datagram.size() >= kAt + sizeof(id)) std::memcpy(&id, datagram.data() + kAt, sizeof(id));
  return id;
}

WireMessage StatusToWire(uint32_t id, const absl::Status& status) {
  return {.type = WireMessage::Type::kStatus,
          .id = id,
          .first = static_cast<uint64_t>(status.code()),
          .text = std::string(status.message())};
}

absl::Status StatusFromWire(const WireMessage& message) {
  return absl::Status(static_cast<absl::StatusCode>(message.first), message.text);
}

}  // namespace weft
