// The messages between weftrun's guard and a rank: one datagram of the
// inherited SOCK_SEQPACKET socket each, bounded, with the protocol's version in
// front. All types share one layout (little-endian, as the ranks of a node are):
//
//   u32 magic | u16 version | u8 type | u8 0 | u32 id | u32 text bytes |
//   u32 value bytes | u32 0 | u64 first | u64 second | text | value
//
// Magic, version, type and id stay where they are, so that any two versions can
// tell each other apart. Pure functions; any thread.
#ifndef WEFT_RUNTIME_BOOTSTRAP_WIRE_H_
#define WEFT_RUNTIME_BOOTSTRAP_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft {

inline constexpr uint16_t kWireVersion = 3;
inline constexpr size_t kWireHeaderBytes = 40;
// Of a status' or an abort's message; Encode cuts what is longer.
inline constexpr size_t kMaxWireTextBytes = 4096;

struct WireMessage {
  enum class Type : uint8_t {
    // From a rank.
    kJoin = 1,
    kShareMemory,  // first: slab bytes, second: local bytes.
    kPut,          // text: key, value.
    kGet,          // text: key.
    kFence,
    kMissing,  // Who keeps the collective call that this rank is in from completing?
    kLeave,
    kAbort,  // first: exit code (as int32), text: message. Not answered.
    // Where survivors go on. first: a proposal whose dead this rank has given up. Not answered.
    kAcknowledge,
    // Likewise. first: a rank that this one cannot reach any more, text: why. Not answered.
    kAccuse,
    // first: epoch, second: how many collective calls this rank has completed, value: what the
    // last came to.
    kContinue,

    // From the guard: answers, under the id of their request, and deaths.
    kWelcome = 64,  // first: rank, second: size, value: the job's secret.
    kStatus,        // first: absl::StatusCode, text: its message.
    kValue,         // value.
    // first: how many calls the furthest has completed, second: epoch, value: a bitmap of those
    // that go on (size / 8 + 1 bytes), then what the furthest's last call came to.
    kContinued,
    kMemory,  // Carries three descriptors: heap, control, membership. first: how many nodes.
    kDeath,   // first: rank. Unasked; id 0.
  };

  Type type = Type::kStatus;
  uint16_t version = kWireVersion;
  uint32_t id = 0;
  uint64_t first = 0;
  uint64_t second = 0;
  std::string text = {};
  std::string value = {};

  friend bool operator==(const WireMessage&, const WireMessage&) = default;
};

inline constexpr size_t kMaxWireBytes = kWireHeaderBytes + kMaxWireTextBytes + 16 * 1024;

// Keys and values must be within their bounds already.
std::string EncodeWire(const WireMessage& message);

// kInvalidArgument says what is wrong with the datagram; kFailedPrecondition
// that it is of another version, naming both.
absl::StatusOr<WireMessage> DecodeWire(std::string_view datagram);

// The id of a datagram that need not decode; 0 when it is too short for one.
uint32_t WireId(std::string_view datagram);

// An answer of type kStatus, and back.
WireMessage StatusToWire(uint32_t id, const absl::Status& status);
absl::Status StatusFromWire(const WireMessage& message);

}  // namespace weft
#endif  // WEFT_RUNTIME_BOOTSTRAP_WIRE_H_
