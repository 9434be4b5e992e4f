#include "runtime/transport/verbs/address_blob.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/transport/plain_bytes.h"

namespace weft {
namespace {

constexpr uint32_t kAddressMagic = 0x31415657;  // "WVA1"
constexpr uint32_t kKeyMagic = 0x314b5657;      // "WVK1"

struct WireKey {
  uint32_t magic;
  uint32_t rank;
  uint64_t base;
  uint64_t length;
  uint32_t key;
  uint32_t segment;
};

struct WireHeader {
  uint32_t magic;
  uint32_t rank;
  uint8_t ethernet;
  uint8_t mtu;
  uint8_t max_reads;
  uint8_t agent;
  uint16_t lid;
  uint16_t count;
  uint8_t gid[16];
  WireKey credits;
};

struct WirePairs {
  uint32_t small, small_packet, bulk, bulk_packet;
};

struct WireCm {
  uint8_t v6;
  uint8_t zero;
  uint16_t port;
  uint8_t ip[16];
  uint8_t nonce[16];
};

WireKey ToWire(const MemoryKey& key) {
  return {.magic = kKeyMagic,
          .rank = key.rank,
          .base = key.base,
          .length = key.length,
          .key = key.key,
          .segment = static_cast<uint32_t>(key.segment)};
}

bool FromWire(const WireKey& wire, MemoryKey& key) {
  key = {.rank = wire.rank,
         .segment = static_cast<Segment::Kind>(wire.segment),
         .base = wire.base,
         .length = wire.length,
         .key = wire.key};
  // The end does not wrap.
  return wire.magic == kKeyMagic && wire.segment <= static_cast<uint32_t>(Segment::Kind::kLocal) &&
         wire.rank < kMaxRanks && wire.length <= UINT64_MAX - wire.base;
}

bool FromWire(const WireCm& wire, CmAddress& address) {
  address.v6 = wire.v6 == 1;
  address.port = wire.port;
  std::memcpy(address.ip, wire.ip, sizeof(wire.ip));
  std::memcpy(address.nonce.data(), wire.nonce, sizeof(wire.nonce));
  return wire.v6 <= 1 && wire.zero == 0 && wire.port != 0;
}

absl::Status NotOurs(std::string_view what, size_t bytes) {
  return absl::InvalidArgumentError(absl::StrCat("the ", bytes, " bytes are no ", std::string(what),
                                                 " of the verbs transport: do all ranks run the "
                                                 "same version of Weft?"));
}

}  // namespace

std::string EncodeMemoryKey(const MemoryKey& key) {
  std::string out;
  AppendPlain(out, ToWire(key));
  return out;
}

absl::StatusOr<MemoryKey> DecodeMemoryKey(std::string_view bytes) {
  std::string_view rest = bytes;
  WireKey wire;
  MemoryKey key;
  if (!TakePlain(rest, wire) || !rest.empty() || !FromWire(wire, key)) {
    return NotOurs("key", bytes.size());
  }
  return key;
}

std::string EncodeVerbsAddress(const VerbsAddress& address) {
  WireHeader header = {.magic = kAddressMagic,
                       .rank = address.rank,
                       .ethernet = address.port.ethernet,
                       .mtu = static_cast<uint8_t>(address.port.mtu),
                       .max_reads = address.port.max_reads,
                       .agent = address.agent,
                       .lid = address.port.lid,
                       .count = static_cast<uint16_t>(address.pairs.size()),
                       .gid = {},
                       .credits = ToWire(address.credits)};
  std::memcpy(header.gid, address.port.gid.raw, sizeof(header.gid));
  std::string out;
  AppendPlain(out, header);
  for (const VerbsAddress::Pairs& pairs : address.pairs) {
    AppendPlain(out, WirePairs{.small = pairs.small.number,
                               .small_packet = pairs.small.first_packet,
                               .bulk = pairs.bulk.number,
                               .bulk_packet = pairs.bulk.first_packet});
  }
  if (address.cm) {
    WireCm cm = {.v6 = address.cm->v6, .zero = 0, .port = address.cm->port, .ip = {}, .nonce = {}};
    std::memcpy(cm.ip, address.cm->ip, sizeof(cm.ip));
    std::memcpy(cm.nonce, address.cm->nonce.data(), sizeof(cm.nonce));
    AppendPlain(out, cm);
  }
  return out;
}

absl::StatusOr<VerbsAddress> DecodeVerbsAddress(std::string_view bytes) {
  std::string_view rest = bytes;
  WireHeader header;
  VerbsAddress address;
  if (!TakePlain(rest, header) || header.magic != kAddressMagic || header.agent > 1 ||
      header.ethernet > 1 || header.rank >= kMaxRanks || header.mtu < IBV_MTU_256 ||
      header.mtu > IBV_MTU_4096 || header.max_reads == 0 || header.count > kMaxExchangedRanks ||
      rest.size() != (header.count > 0 ? header.count * sizeof(WirePairs) : sizeof(WireCm)) ||
      !FromWire(header.credits, address.credits)) {
    return NotOurs("address", bytes.size());
  }
  address.rank = header.rank;
  address.agent = header.agent == 1;
  address.port = {.ethernet = header.ethernet == 1,
                  .lid = header.lid,
                  .gid = {},
                  .mtu = static_cast<ibv_mtu>(header.mtu),
                  .max_reads = header.max_reads};
  std::memcpy(address.port.gid.raw, header.gid, sizeof(header.gid));
  for (uint16_t i = 0; i < header.count; ++i) {
    WirePairs pairs;
    // Packet numbers have 24 bits.
    if (!TakePlain(rest, pairs) || (pairs.small_packet | pairs.bulk_packet) >> 24 != 0) {
      return NotOurs("address", bytes.size());
    }
    address.pairs.push_back(
        {.small = {pairs.small, pairs.small_packet}, .bulk = {pairs.bulk, pairs.bulk_packet}});
  }
  if (header.count == 0) {
    WireCm wire;
    if (!TakePlain(rest, wire) || !FromWire(wire, address.cm.emplace())) {
      return NotOurs("address", bytes.size());
    }
  }
  return address;
}

}  // namespace weft
