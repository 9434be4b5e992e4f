// What the verbs transport of one rank tells that of another: notifications, the atomics
// of the agent domain, and how a lane starts anew.
//
// Where the device can, in the 32 bits of an immediate; else as a message of its own, a SEND,
// which is also the only way for an atomic and its reply. The bytes come from another process:
// decoding checks what can be told without knowing that rank's memory.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_MESSAGE_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/transport/transport.h"

namespace weft {

struct Message {
  enum class Kind : uint8_t {
    kCount,       // Add 1 to notification counter `number`.
    kWake,        // A signal was written: wake who waits.
    kAskBulk,     // The bulk lane's queue pair is another now, `number`: connect to it.
    kAnswerBulk,  // So it is here, and connected: `number`.
    // Not as immediates:
    kAtomic,  // Carry it out, and reply.
    kReply,   // To the request `number`.
  };
  static constexpr size_t kBytes = 32;

  Kind kind = Kind::kCount;
  uint32_t number = 0;

  // Of an atomic; `operand` of a reply is the old value.
  Op::Kind operation = Op::Kind::kPut;
  uint8_t length = 0;
  Segment::Kind segment = Segment::Kind::kSlab;
  bool wakes = false;  // It is a signal: wake who waits.
  uint64_t offset = 0;
  uint64_t operand = 0;
  uint64_t compare = 0;
  // Of a reply.
  Event::Result result = Event::Result::kOk;

  void Encode(std::span<std::byte, kBytes> bytes) const;
  // nullopt for anything that Encode did not make.
  static std::optional<Message> Decode(std::span<const std::byte> bytes);

  uint32_t AsImmediate() const { return static_cast<uint32_t>(kind) << 28 | (number & 0xfffffff); }
  static std::optional<Message> FromImmediate(uint32_t bits);
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_MESSAGE_H_
