#include "runtime/transport/tcp/tcp_address.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/transport/plain_bytes.h"
#include "runtime/transport/tcp/interfaces.h"

namespace weft {
namespace {

constexpr uint32_t kAddressMagic = 0x31415457;  // "WTA1"
constexpr uint32_t kKeyMagic = 0x314b5457;      // "WTK1"

struct AddressWire {
  uint32_t magic;
  uint16_t rank;
  uint16_t count;
};
struct EndWire {
  std::array<uint8_t, 16> ip;
  uint16_t port;
};
struct KeyWire {
  uint32_t magic;
  uint16_t rank;
  uint16_t segment;
  uint64_t length;
};

absl::Status NotOurs(const char* what, std::string_view bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat("the ", bytes.size(), "-byte ", what,
                   " is none of the tcp transport: do all ranks run the same version of Weft, with "
                   "the same WEFT_TRANSPORTS?"));
}

}  // namespace

std::string TcpAddress::Encode() const {
  std::string bytes;
  AppendPlain(bytes, AddressWire{kAddressMagic, static_cast<uint16_t>(rank),
                                 static_cast<uint16_t>(listening.size())});
  for (const SocketAddress& end : listening) AppendPlain(bytes, EndWire{end.ip, end.port});
  return bytes;
}

absl::StatusOr<TcpAddress> TcpAddress::Decode(std::string_view bytes) {
  std::string_view rest = bytes;
  AddressWire wire;
  if (!TakePlain(rest, wire) || wire.magic != kAddressMagic || wire.count == 0 ||
      wire.count > kMaxListened || rest.size() != wire.count * sizeof(EndWire)) {
    return NotOurs("address", bytes);
  }
  TcpAddress address = {.rank = wire.rank, .listening = {}};
  for (EndWire end; TakePlain(rest, end);) {
    address.listening.push_back({.ip = end.ip, .port = end.port});
  }
  return address;
}

std::string TcpKey::Encode() const {
  std::string bytes;
  AppendPlain(bytes, KeyWire{kKeyMagic, static_cast<uint16_t>(rank), static_cast<uint16_t>(segment),
                             length});
  return bytes;
}

absl::StatusOr<TcpKey> TcpKey::Decode(std::string_view bytes) {
  std::string_view rest = bytes;
  KeyWire wire;
  if (!TakePlain(rest, wire) || !rest.empty() || wire.magic != kKeyMagic ||
      wire.segment > static_cast<uint16_t>(Segment::Kind::kControl)) {
    return NotOurs("key", bytes);
  }
  return TcpKey{.rank = wire.rank,
                .segment = static_cast<Segment::Kind>(wire.segment),
                .length = wire.length};
}

}  // namespace weft
