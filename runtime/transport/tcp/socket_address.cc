#include "runtime/transport/tcp/socket_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

std::optional<SocketAddress> SocketAddress::From(const sockaddr* address) {
  SocketAddress result;
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(address);
    std::ranges::copy(kMapped, result.ip.begin());
    std::memcpy(result.ip.data() + kMapped.size(), &v4->sin_addr, 4);
    result.port = ntohs(v4->sin_port);
    return result;
  }
  if (address->sa_family == AF_INET6) {
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(address);
    std::memcpy(result.ip.data(), &v6->sin6_addr, 16);
    result.port = ntohs(v6->sin6_port);
    return result;
  }
  return std::nullopt;
}

socklen_t SocketAddress::To(sockaddr_storage& storage) const {
  storage = {};
  if (is_v4()) {
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    std::memcpy(&v4->sin_addr, ip.data() + kMapped.size(), 4);
    return sizeof(*v4);
  }
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(port);
  std::memcpy(&v6->sin6_addr, ip.data(), 16);
  return sizeof(*v6);
}

bool SocketAddress::is_v4() const { return std::equal(kMapped.begin(), kMapped.end(), ip.begin()); }

bool SocketAddress::is_loopback() const {
  if (is_v4()) return ip[12] == 127;
  return std::all_of(ip.begin(), ip.end() - 1, [](uint8_t b) { return b == 0; }) && ip[15] == 1;
}

bool SocketAddress::is_link_local() const {
  if (is_v4()) return ip[12] == 169 && ip[13] == 254;
  return ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
}

std::string SocketAddress::ip_text() const {
  char text[INET6_ADDRSTRLEN];
  const bool v4 = is_v4();
  inet_ntop(v4 ? AF_INET : AF_INET6, ip.data() + (v4 ? kMapped.size() : 0), text, sizeof(text));
  return text;
}

std::string SocketAddress::ToString() const {
  return is_v4() ? absl::StrCat(ip_text(), ":", port) : absl::StrCat("[", ip_text(), "]:", port);
}

}  // namespace weft
