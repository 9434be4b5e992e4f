#include "runtime/transport/verbs/message.h"

#include <cstring>

#include "runtime/transport/address.h"

namespace weft {
namespace {

struct Wire {
  uint8_t kind;
  uint8_t what;  // The operation of an atomic, the result of a reply.
  uint8_t length;
  uint8_t where;  // The segment; and kWakes.
  uint32_t number;
  uint64_t offset;
  uint64_t operand;
  uint64_t compare;
};
static_assert(sizeof(Wire) == Message::kBytes);

constexpr uint8_t kWakes = 0x80;

bool IsAtomicToSend(const Message& message) {
  return IsAtomic(message.operation) && message.operation <= Op::Kind::kXor &&
         (message.length == 4 || message.length == 8) &&
         (message.segment == Segment::Kind::kSlab || message.segment == Segment::Kind::kControl);
}

}  // namespace

void Message::Encode(std::span<std::byte, kBytes> bytes) const {
  const Wire wire = {
      .kind = static_cast<uint8_t>(kind),
      .what = kind == Kind::kReply ? static_cast<uint8_t>(result) : static_cast<uint8_t>(operation),
      .length = length,
      .where = static_cast<uint8_t>(static_cast<uint8_t>(segment) | (wakes ? kWakes : 0)),
      .number = number,
      .offset = offset,
      .operand = operand,
      .compare = compare};
  std::memcpy(bytes.data(), &wire, sizeof(wire));
}

std::optional<Message> Message::Decode(std::span<const std::byte> bytes) {
  Wire wire;
  if (bytes.size() != sizeof(wire)) return std::nullopt;
  std::memcpy(&wire, bytes.data(), sizeof(wire));
  if (wire.kind > static_cast<uint8_t>(Kind::kReply)) return std::nullopt;
  Message message = {.kind = static_cast<Kind>(wire.kind),
                     .number = wire.number,
                     .length = wire.length,
                     .segment = static_cast<Segment::Kind>(wire.where & ~kWakes),
                     .wakes = (wire.where & kWakes) != 0,
                     .offset = wire.offset,
                     .operand = wire.operand,
                     .compare = wire.compare};
  if (message.kind == Kind::kAtomic) {
    message.operation = static_cast<Op::Kind>(wire.what);
    return IsAtomicToSend(message) ? std::optional(message) : std::nullopt;
  }
  const uint8_t most =
      message.kind == Kind::kReply ? static_cast<uint8_t>(Event::Result::kInternal) : 0;
  if (wire.what > most || wire.length != 0 || wire.where != 0) return std::nullopt;
  message.result = static_cast<Event::Result>(wire.what);
  return message;
}

std::optional<Message> Message::FromImmediate(uint32_t bits) {
  if (bits >> 28 > static_cast<uint32_t>(Kind::kAnswerBulk)) return std::nullopt;
  return Message{.kind = static_cast<Kind>(bits >> 28), .number = bits & 0xfffffff};
}

}  // namespace weft
