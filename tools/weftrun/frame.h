// The messages between launcher, keepers and guards of one job, as bytes of a
// stream: a pipe to an agent (ssh), or the life-line of a guard. Bounded, with
// the protocol's version in front. All types share one layout (little-endian):
//
//   u32 magic | u16 version | u8 type | u8 0 | u32 rank | i32 number | u64 first |
//   u64 second | u32 text bytes | u32 data bytes | text | data
//
// Magic and version stay where they are, so that any two versions can tell each
// other apart. Pure functions; any thread.
#ifndef WEFT_TOOLS_WEFTRUN_FRAME_H_
#define WEFT_TOOLS_WEFTRUN_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft {

inline constexpr uint16_t kFrameVersion = 2;
inline constexpr size_t kFrameHeaderBytes = 40;
// Of a frame's text; Encode cuts what is longer.
inline constexpr size_t kMaxFrameText = 8192;
inline constexpr size_t kMaxPlanBytes = 8 << 20;
inline constexpr size_t kMaxOutputBytes = 256 * 1024;
inline constexpr size_t kMaxInputBytes = 16 * 1024;

struct Frame {
  enum class Type : uint8_t {
    // Launcher to keeper.
    kPlan = 1,     // data: a NodePlan. The first.
    kOutputTaken,  // So many bytes of output (first) are out of the way.
    kInput,        // data: standard input for the rank that reads it. Empty: its end.
    // Launcher to guard.
    kSignal,      // The user sent signal `number` to the launcher.
    kCutShort,    // End the job with `number`, because of `text`.
    kAnswer,      // JobNodes: to rank; data: a WireMessage.
    kMakeMemory,  // JobNodes: first: slab bytes, second: local bytes.
    kPublish,     // JobNodes: rank; first: MemberState; number: wait status.
    kPropose,     // JobNodes: first: the proposal.
    kAnnounce,    // JobNodes: first: the epoch.
    kKill,        // JobNodes: rank; text: why.

    // Either way.
    kHeartbeat = 64,
    kFailed,  // Something decides how the job ends: with `number`, and the line `text`.

    // Keeper to launcher.
    kHello = 128,  // number: its process, text: its host's own name. The first.
    kOutput,       // rank; first: the stream, 1 or 2; data: whole lines, mostly.
    kInputTaken,   // So many bytes of input (first) are out of the way.
    // Guard to launcher.
    kNarration,  // For -v: `text`.
    kSurvived,   // A failure with which others go on: with `number`, and the line `text`.
    // Its ranks are gone, `first` of them well: exit with `number`, after the line `text` unless
    // empty.
    kVerdict,
    kRequest,        // JobAuthority: of rank; data: a WireMessage.
    kDeath,          // JobAuthority: rank; number: wait status; text: how.
    kEndedUnjoined,  // JobAuthority: rank.
    kMemoryMade,     // JobAuthority: number: absl::StatusCode; text: its message.
  };

  Type type = Type::kHeartbeat;
  uint32_t rank = 0;
  int32_t number = 0;
  uint64_t first = 0;
  uint64_t second = 0;
  std::string text = {};
  std::string data = {};

  friend bool operator==(const Frame&, const Frame&) = default;
};

// The data must be within its bounds already.
std::string EncodeFrame(const Frame& frame);

// Takes the first frame off the front of `stream`; nullopt while it is not whole.
// kInvalidArgument when no frame starts so, kFailedPrecondition when it is one of
// another version: nothing that follows can be understood then.
absl::StatusOr<std::optional<Frame>> TakeFrame(std::string_view& stream);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_FRAME_H_
