#include "tools/weftrun/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "runtime/base/control_layout.h"
#include "runtime/bootstrap/wire.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kMagic = 0x4E554A57;  // "WJUN"

struct Header {
  uint32_t magic;
  uint16_t version;
  uint8_t type;
  uint8_t reserved;
  uint32_t rank;
  int32_t number;
  uint64_t first;
  uint64_t second;
  uint32_t text_bytes;
  uint32_t data_bytes;
};
static_assert(sizeof(Header) == kFrameHeaderBytes);

// What a type may carry. What it does not use must be 0.
struct Shape {
  bool rank = false;
  bool number = false;
  bool text = false;
  size_t max_data = 0;
  uint64_t max_first = 0;
  uint64_t max_second = 0;
};

// False: no such type.
bool ShapeOf(Frame::Type type, Shape& shape) {
  using Type = Frame::Type;
  switch (type) {
    case Type::kPlan:
      shape = {.max_data = kMaxPlanBytes};
      return true;
    case Type::kOutputTaken:
    case Type::kInputTaken:
      shape = {.max_first = UINT64_MAX};
      return true;
    case Type::kInput:
      shape = {.max_data = kMaxInputBytes};
      return true;
    case Type::kSignal:
      shape = {.number = true};
      return true;
    case Type::kCutShort:
    case Type::kFailed:
    case Type::kHello:
    case Type::kSurvived:
    case Type::kMemoryMade:
      shape = {.number = true, .text = true};
      return true;
    case Type::kVerdict:
      shape = {.number = true, .text = true, .max_first = kMaxRanks};
      return true;
    case Type::kPropose:
    case Type::kAnnounce:
      shape = {.max_first = UINT32_MAX};
      return true;
    case Type::kAnswer:
    case Type::kRequest:
      shape = {.rank = true, .max_data = kMaxWireBytes};
      return true;
    case Type::kMakeMemory:
      shape = {.max_first = UINT64_MAX, .max_second = UINT64_MAX};
      return true;
    case Type::kPublish:
      shape = {
          .rank = true, .number = true, .max_first = static_cast<uint64_t>(MemberState::kDead)};
      return true;
    case Type::kHeartbeat:
      shape = {};
      return true;
    case Type::kOutput:
      shape = {.rank = true, .max_data = kMaxOutputBytes, .max_first = 2};
      return true;
    case Type::kNarration:
      shape = {.text = true};
      return true;
    case Type::kDeath:
      shape = {.rank = true, .number = true, .text = true};
      return true;
    case Type::kKill:
      shape = {.rank = true, .text = true};
      return true;
    case Type::kEndedUnjoined:
      shape = {.rank = true};
      return true;
  }
  return false;
}

absl::Status NoFrame(std::string_view stream) {
  return absl::InvalidArgumentError(
      absl::StrFormat("\"%s\", which is no message of weftrun",
                      absl::CHexEscape(std::string(stream.substr(0, 60)))));
}

}  // namespace

std::string EncodeFrame(const Frame& frame) {
  const size_t text_bytes = std::min(frame.text.size(), kMaxFrameText);
  const Header header = {.magic = kMagic,
                         .version = kFrameVersion,
                         .type = static_cast<uint8_t>(frame.type),
                         .reserved = 0,
                         .rank = frame.rank,
                         .number = frame.number,
                         .first = frame.first,
                         .second = frame.second,
                         .text_bytes = static_cast<uint32_t>(text_bytes),
                         .data_bytes = static_cast<uint32_t>(frame.data.size())};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(frame.text, 0, text_bytes);
  bytes.append(frame.data);
  return bytes;
}

absl::StatusOr<std::optional<Frame>> TakeFrame(std::string_view& stream) {
  Header header = {};
  stream.copy(reinterpret_cast<char*>(&header), sizeof(header));
  // As soon as it cannot become one, so that noise is not waited on for more of it.
  if (std::memcmp(&header.magic, &kMagic, std::min(stream.size(), sizeof(kMagic))) != 0) {
    return NoFrame(stream);
  }
  if (stream.size() >= offsetof(Header, type) && header.version != kFrameVersion) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "a message of version %d of weftrun's protocol, but version %d is spoken here: use the "
        "same build of Weft on all hosts",
        header.version, kFrameVersion));
  }
  if (stream.size() < sizeof(header)) return std::nullopt;
  Frame frame = {.type = static_cast<Frame::Type>(header.type),
                 .rank = header.rank,
                 .number = header.number,
                 .first = header.first,
                 .second = header.second};
  Shape shape;
  if (!ShapeOf(frame.type, shape) || header.reserved != 0 || (header.rank != 0 && !shape.rank) ||
      header.rank >= kMaxRanks || (header.number != 0 && !shape.number) ||
      header.first > shape.max_first || header.second > shape.max_second ||
      header.text_bytes > (shape.text ? kMaxFrameText : 0) || header.data_bytes > shape.max_data) {
    return NoFrame(stream);
  }
  stream.remove_prefix(sizeof(header));
  if (stream.size() < size_t{header.text_bytes} + header.data_bytes) {
    stream = std::string_view(stream.data() - sizeof(header), stream.size() + sizeof(header));
    return std::nullopt;
  }
  frame.text = stream.substr(0, header.text_bytes);
  frame.data = stream.substr(header.text_bytes, header.data_bytes);
  stream.remove_prefix(size_t{header.text_bytes} + header.data_bytes);
  return frame;
}

}  // namespace weft
