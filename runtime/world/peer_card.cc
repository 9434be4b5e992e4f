#include "runtime/world/peer_card.h"

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace weft {
namespace {

// Each part: its length in four bytes, the lowest first, then the part.
constexpr size_t kLengthBytes = 4;

void Append(std::string& bytes, std::string_view part) {
  for (size_t i = 0; i < kLengthBytes; ++i) {
    bytes.push_back(static_cast<char>(part.size() >> (8 * i)));
  }
  bytes.append(part);
}

bool Take(std::string_view& bytes, std::string& part) {
  if (bytes.size() < kLengthBytes) return false;
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  bytes.remove_prefix(kLengthBytes);
  if (length > bytes.size()) return false;
  part = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return true;
}

}  // namespace

std::string EncodePeerCard(const PeerCard& card) {
  std::string bytes;
  for (const std::string* part : {&card.address, &card.slab_key, &card.control_key}) {
    Append(bytes, *part);
  }
  return bytes;
}

absl::StatusOr<PeerCard> DecodePeerCard(std::string_view bytes) {
  PeerCard card;
  const size_t all = bytes.size();
  if (!Take(bytes, card.address) || !Take(bytes, card.slab_key) || !Take(bytes, card.control_key) ||
      !bytes.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "a peer's card of %u bytes is damaged %u bytes before its end", all, bytes.size()));
  }
  return card;
}

}  // namespace weft
