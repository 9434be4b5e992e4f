// An IP address and a port, as a value. Plain data; any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_SOCKET_ADDRESS_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_SOCKET_ADDRESS_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace weft {

struct SocketAddress {
  std::array<uint8_t, 16> ip = {};  // As IPv6; an IPv4 address is mapped.
  uint16_t port = 0;

  friend bool operator==(const SocketAddress&, const SocketAddress&) = default;

  static std::optional<SocketAddress> From(const sockaddr* address);
  // Fills `storage`; its length.
  socklen_t To(sockaddr_storage& storage) const;

  bool is_v4() const;
  // Of this host alone; of one link, which needs an interface beside it.
  bool is_loopback() const;
  bool is_link_local() const;

  std::string ip_text() const;   // "10.0.0.1", "fd00::1".
  std::string ToString() const;  // "10.0.0.1:4000", "[fd00::1]:4000".
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_SOCKET_ADDRESS_H_
