// How two ranks meet over a new connection: each proves to the other that it knows the job's
// secret, before anything else is said.
//
//   caller -> called   Hello:      versions, who calls whom, which lane, a nonce
//   called -> caller   Challenge:  a nonce, and a proof over both
//   caller -> called   Proof:      a proof over all of that
//
// A proof is an HMAC-SHA256 over a label that names its direction and over every byte that was said
// before it, versions and nonces of both sides included: what was overheard, sent back or changed
// on the way proves nothing. Sizes are fixed, so nobody who is not known makes anybody allocate. A
// refusal takes the place of the challenge.
//
// The bytes come from anywhere: decoding checks everything. Plain data and functions; any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_HELLO_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_HELLO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/job_secret.h"
#include "runtime/transport/transport.h"
#include "weft/rank.h"

namespace weft {

inline constexpr uint16_t kTcpVersion = 1;

using TcpNonce = std::array<uint8_t, 32>;
using TcpProof = Hmac;

TcpNonce MakeTcpNonce();

struct Hello {
  static constexpr size_t kBytes = 60;
  using Bytes = std::array<uint8_t, kBytes>;

  // The versions that the caller speaks.
  uint16_t oldest = kTcpVersion;
  uint16_t newest = kTcpVersion;
  Rank from = 0;
  Rank to = 0;
  uint32_t epoch = 0;   // Of the membership.
  uint32_t number = 0;  // Counts the caller's connections of this lane, from 1 on.
  Lane lane = Lane::kSmall;
  TcpNonce nonce = {};

  friend bool operator==(const Hello&, const Hello&) = default;

  Bytes Encode() const;
  // kInvalidArgument: no hello of Weft; kFailedPrecondition: of other versions only, naming them.
  static absl::StatusOr<Hello> Decode(std::span<const uint8_t> bytes);
};

enum class HelloRefusal : uint8_t {
  kNone,
  kVersion,  // The called speaks another, `version`.
  kNotMe,    // It is not the rank that was meant.
  kGivenUp,  // It has given the caller up.
  kStale,    // A later connection of the lane stands.
  kTooMany,  // Too many are meeting it: try again.
};

struct Challenge {
  static constexpr size_t kBytes = 72;
  using Bytes = std::array<uint8_t, kBytes>;

  uint16_t version = kTcpVersion;  // That is spoken from here on.
  HelloRefusal refusal = HelloRefusal::kNone;
  TcpNonce nonce = {};

  // With the proof that its sender has the secret.
  Bytes Seal(const JobSecret& secret, const Hello::Bytes& hello) const;
  // kInvalidArgument: no challenge; kUnauthenticated: not proved.
  static absl::StatusOr<Challenge> Open(std::span<const uint8_t> bytes, const JobSecret& secret,
                                        const Hello::Bytes& hello);
};

// The caller's proof.
TcpProof ProveCaller(const JobSecret& secret, const Hello::Bytes& hello,
                     const Challenge::Bytes& challenge);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_HELLO_H_
