#include "runtime/transport/tcp/hello.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kHelloMagic = 0x4c484557;      // "WEHL"
constexpr uint32_t kChallengeMagic = 0x48434557;  // "WECH"
constexpr std::string_view kCalledLabel = "weft tcp called";
constexpr std::string_view kCallerLabel = "weft tcp caller";

// Magic and versions stay where they are, so that any two versions can tell each other apart.
struct HelloWire {
  uint32_t magic;
  uint16_t oldest;
  uint16_t newest;
  uint16_t from;
  uint16_t to;
  uint32_t epoch;
  uint32_t number;
  uint8_t lane;
  uint8_t zero[7];
  TcpNonce nonce;
};
static_assert(sizeof(HelloWire) == Hello::kBytes);

struct ChallengeWire {
  uint32_t magic;
  uint16_t version;
  uint8_t refusal;
  uint8_t zero;
  TcpNonce nonce;
  TcpProof proof;
};
static_assert(sizeof(ChallengeWire) == Challenge::kBytes);
constexpr size_t kProvedOfChallenge = offsetof(ChallengeWire, proof);

template <size_t N>
bool AllZero(const uint8_t (&bytes)[N]) {
  return std::ranges::all_of(bytes, [](uint8_t b) { return b == 0; });
}

std::span<const uint8_t> LabelBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

TcpNonce MakeTcpNonce() {
  TcpNonce nonce;
  FillAtRandom(nonce);
  return nonce;
}

Hello::Bytes Hello::Encode() const {
  const HelloWire wire = {.magic = kHelloMagic,
                          .oldest = oldest,
                          .newest = newest,
                          .from = static_cast<uint16_t>(from),
                          .to = static_cast<uint16_t>(to),
                          .epoch = epoch,
                          .number = number,
                          .lane = static_cast<uint8_t>(lane),
                          .zero = {},
                          .nonce = nonce};
  return std::bit_cast<Bytes>(wire);
}

absl::StatusOr<Hello> Hello::Decode(std::span<const uint8_t> bytes) {
  HelloWire wire = {};
  std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof(wire)),
              reinterpret_cast<uint8_t*>(&wire));
  if (bytes.size() < offsetof(HelloWire, from) || wire.magic != kHelloMagic) {
    return absl::InvalidArgumentError(
        absl::StrCat(bytes.size(), " bytes that are no hello of Weft"));
  }
  if (wire.oldest > kTcpVersion || wire.newest < kTcpVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the caller speaks versions ", wire.oldest, " to ", wire.newest,
                     " of Weft over TCP, this rank version ", kTcpVersion,
                     ": run the same version of Weft on all hosts"));
  }
  if (bytes.size() != sizeof(wire) || wire.lane > static_cast<uint8_t>(Lane::kBulk) ||
      wire.oldest > wire.newest || !AllZero(wire.zero)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a malformed hello of ", bytes.size(), " bytes"));
  }
  return Hello{.oldest = wire.oldest,
               .newest = wire.newest,
               .from = wire.from,
               .to = wire.to,
               .epoch = wire.epoch,
               .number = wire.number,
               .lane = static_cast<Lane>(wire.lane),
               .nonce = wire.nonce};
}

Challenge::Bytes Challenge::Seal(const JobSecret& secret, const Hello::Bytes& hello) const {
  ChallengeWire wire = {.magic = kChallengeMagic,
                        .version = version,
                        .refusal = static_cast<uint8_t>(refusal),
                        .zero = 0,
                        .nonce = nonce,
                        .proof = {}};
  const auto unproved = std::bit_cast<Bytes>(wire);
  wire.proof = MakeHmac(
      secret, {LabelBytes(kCalledLabel), hello, std::span(unproved).first(kProvedOfChallenge)});
  return std::bit_cast<Bytes>(wire);
}

absl::StatusOr<Challenge> Challenge::Open(std::span<const uint8_t> bytes, const JobSecret& secret,
                                          const Hello::Bytes& hello) {
  ChallengeWire wire = {};
  if (bytes.size() != sizeof(wire)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a malformed challenge of ", bytes.size(), " bytes"));
  }
  std::ranges::copy(bytes, reinterpret_cast<uint8_t*>(&wire));
  if (wire.magic != kChallengeMagic ||
      wire.refusal > static_cast<uint8_t>(HelloRefusal::kTooMany) || wire.zero != 0) {
    return absl::InvalidArgumentError("a malformed challenge");
  }
  const Hmac expected =
      MakeHmac(secret, {LabelBytes(kCalledLabel), hello, bytes.first(kProvedOfChallenge)});
  if (!SameInConstantTime(expected, wire.proof)) {
    return absl::UnauthenticatedError(
        "whoever listens there does not know this job's secret: it is another job, or no Weft");
  }
  return Challenge{.version = wire.version,
                   .refusal = static_cast<HelloRefusal>(wire.refusal),
                   .nonce = wire.nonce};
}

TcpProof ProveCaller(const JobSecret& secret, const Hello::Bytes& hello,
                     const Challenge::Bytes& challenge) {
  return MakeHmac(secret, {LabelBytes(kCallerLabel), hello, challenge});
}

}  // namespace weft
