// What two ranks say to each other through librdmacm when they connect: a request, and a reply or
// a refusal, as the 56 bytes of private data that a request has room for.
//
// Each ends in a proof that its sender knows the job's secret: an HMAC-SHA256 over all before it
// and over something that the receiver chose, so that what was overheard proves nothing anywhere
// else. For a request that is the nonce that the receiver has published; for an answer, the
// proof of the request. A proof is the first 16 bytes of the HMAC: half of it, which RFC 2104 has
// as the least; the other half would be in the place of what lets the receiver answer without
// looking the sender up. That no request counts twice is its number's business (CmConnector).
//
// The bytes come from anywhere: opening checks everything. Plain data and functions; any
// thread.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_CM_MESSAGE_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_CM_MESSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "runtime/base/job_secret.h"
#include "runtime/transport/transport.h"
#include "weft/rank.h"

namespace weft {

inline constexpr uint16_t kCmVersion = 1;

struct CmMessage {
  enum class Kind : uint8_t { kRequest = 1, kReply, kRefusal };
  enum class Refusal : uint8_t {
    kNone,     // It is none.
    kYield,    // The receiver's own request is under way, and goes first.
    kStale,    // Its number was seen before, or is of before the connection that stands.
    kGone,     // The receiver has given the sender up.
    kBusy,     // The receiver lacks something: try again.
    kProof,    // It is not proved, or not meant for the receiver.
    kVersion,  // The receiver speaks another version.
  };
  static constexpr size_t kBytes = 56;
  using Bytes = std::array<uint8_t, kBytes>;
  using Nonce = std::array<uint8_t, 16>;

  Kind kind = Kind::kRequest;
  Refusal refusal = Refusal::kNone;
  Lane lane = Lane::kSmall;
  Rank from = 0;
  Rank to = 0;
  uint32_t epoch = 0;   // Of the membership.
  uint32_t number = 0;  // Counts the lane's requests, of both sides.
  // Of a request: the sender's queue pair, and where it reads what the receiver took in.
  uint32_t pair = 0;
  uint64_t credit_address = 0;
  uint32_t credit_key = 0;

  friend bool operator==(const CmMessage&, const CmMessage&) = default;

  // With the proof over `nonce`.
  Bytes Seal(const JobSecret& secret, const Nonce& nonce) const;
  // What follows the first kBytes, as librdmacm pads, is ignored. kInvalidArgument: no message;
  // kFailedPrecondition: of another version, naming both; kUnauthenticated: not proved.
  static absl::StatusOr<CmMessage> Open(std::span<const uint8_t> bytes, const JobSecret& secret,
                                        const Nonce& nonce);
  // The proof of a sealed message, what answers to it are proved over; also of one that does not
  // open. Zeros of one that is too short.
  static Nonce ProofOf(std::span<const uint8_t> bytes);
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_CM_MESSAGE_H_
