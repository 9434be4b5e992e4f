#include "runtime/transport/verbs/cm_message.h"

#include <algorithm>
#include <bit>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kMagic = 0x4d435657;  // "WVCM"

// Magic and version stay where they are, so that any two versions can tell each other apart.
struct Wire {
  uint32_t magic;
  uint16_t version;
  uint8_t kind;
  uint8_t refusal;
  uint16_t from;
  uint16_t to;
  uint32_t epoch;
  uint32_t number;
  uint32_t pair;
  uint64_t credit_address;
  uint32_t credit_key;
  uint8_t lane;
  uint8_t zero[3];
  CmMessage::Nonce proof;
};
static_assert(sizeof(Wire) == CmMessage::kBytes);
constexpr size_t kProved = offsetof(Wire, proof);

CmMessage::Nonce Prove(const Wire& wire, const JobSecret& secret, const CmMessage::Nonce& nonce) {
  const auto bytes = std::bit_cast<CmMessage::Bytes>(wire);
  const Hmac whole = MakeHmac(secret, {std::span(bytes).first(kProved), nonce});
  CmMessage::Nonce proof;
  std::copy_n(whole.begin(), proof.size(), proof.begin());
  return proof;
}

}  // namespace

CmMessage::Bytes CmMessage::Seal(const JobSecret& secret, const Nonce& nonce) const {
  Wire wire = {.magic = kMagic,
               .version = kCmVersion,
               .kind = static_cast<uint8_t>(kind),
               .refusal = static_cast<uint8_t>(refusal),
               .from = static_cast<uint16_t>(from),
               .to = static_cast<uint16_t>(to),
               .epoch = epoch,
               .number = number,
               .pair = pair,
               .credit_address = credit_address,
               .credit_key = credit_key,
               .lane = static_cast<uint8_t>(lane),
               .zero = {},
               .proof = {}};
  wire.proof = Prove(wire, secret, nonce);
  return std::bit_cast<Bytes>(wire);
}

absl::StatusOr<CmMessage> CmMessage::Open(std::span<const uint8_t> bytes, const JobSecret& secret,
                                          const Nonce& nonce) {
  Wire wire = {};
  std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof(wire)),
              reinterpret_cast<uint8_t*>(&wire));
  if (bytes.size() < offsetof(Wire, kind) || wire.magic != kMagic) {
    return absl::InvalidArgumentError(
        absl::StrCat(bytes.size(), " bytes of private data that are no message of Weft (version ",
                     kCmVersion, " of its connecting is spoken here)"));
  }
  if (wire.version != kCmVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("version ", wire.version, " of connecting is spoken there, but version ",
                     kCmVersion, " here: use the same build of Weft for all ranks"));
  }
  if (bytes.size() < sizeof(wire)) {
    return absl::InvalidArgumentError(absl::StrCat(bytes.size(), " bytes of private data, but ",
                                                   sizeof(wire), " are a message of Weft"));
  }
  const Nonce proof = Prove(wire, secret, nonce);
  if (!SameInConstantTime(proof, wire.proof)) {
    return absl::UnauthenticatedError(
        "the sender does not prove that it belongs to this job, or meant another rank");
  }
  const bool refused = wire.kind == static_cast<uint8_t>(Kind::kRefusal);
  if (wire.kind < static_cast<uint8_t>(Kind::kRequest) ||
      wire.kind > static_cast<uint8_t>(Kind::kRefusal) ||
      wire.refusal > static_cast<uint8_t>(Refusal::kVersion) || (wire.refusal != 0) != refused ||
      wire.lane > static_cast<uint8_t>(Lane::kBulk) || wire.from >= kMaxRanks ||
      wire.to >= kMaxRanks || !std::ranges::all_of(wire.zero, [](uint8_t b) { return b == 0; })) {
    return absl::InvalidArgumentError("a message of connecting that makes no sense");
  }
  return CmMessage{.kind = static_cast<Kind>(wire.kind),
                   .refusal = static_cast<Refusal>(wire.refusal),
                   .lane = static_cast<Lane>(wire.lane),
                   .from = wire.from,
                   .to = wire.to,
                   .epoch = wire.epoch,
                   .number = wire.number,
                   .pair = wire.pair,
                   .credit_address = wire.credit_address,
                   .credit_key = wire.credit_key};
}

CmMessage::Nonce CmMessage::ProofOf(std::span<const uint8_t> bytes) {
  Nonce proof = {};
  if (bytes.size() >= kBytes) std::copy_n(bytes.begin() + kProved, proof.size(), proof.begin());
  return proof;
}

}  // namespace weft
