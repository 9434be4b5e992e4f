#include "runtime/transport/tcp/sockets.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr int kBacklog = 1024;

// kResourceExhausted, with a cure, where a limit of this host is reached; else kUnavailable.
absl::Status NoSocket(std::string_view what, int error) {
  const std::string message = absl::StrCat(std::string(what), ": ", strerror(error));
  switch (error) {
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(absl::StrCat(
          message, "; raise the limit on open files (ulimit -n): a rank needs four for each peer"));
    case ENOBUFS:
    case ENOMEM:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

void Set(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof(value));
}

// Nothing waits to be sent together, and a peer's host that has gone silent is noticed, whether or
// not something is under way.
void SetUp(int socket, absl::Duration silence_limit) {
  Set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  const int seconds = static_cast<int>(std::max<int64_t>(absl::ToInt64Seconds(silence_limit), 2));
  Set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  Set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  Set(socket, IPPROTO_TCP, TCP_KEEPCNT, seconds - 1);
  Set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, seconds * 1000);
}

UniqueFd MakeSocket(const SocketAddress& address) {
  return UniqueFd(socket(address.is_v4() ? AF_INET : AF_INET6,
                         SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
}

}  // namespace

absl::StatusOr<UniqueFd> Listen(SocketAddress& address) {
  UniqueFd fd = MakeSocket(address);
  if (!fd) return NoSocket("cannot make a socket to listen on", errno);
  sockaddr_storage storage;
  const socklen_t length = address.To(storage);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return NoSocket(absl::StrCat("cannot listen on ", address.ip_text()), errno);
  }
  socklen_t bound = sizeof(storage);
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &bound);
  address = *SocketAddress::From(reinterpret_cast<sockaddr*>(&storage));
  return fd;
}

absl::StatusOr<std::optional<UniqueFd>> Accept(int listening, absl::Duration silence_limit) {
  for (;;) {
    UniqueFd fd(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      SetUp(fd.get(), silence_limit);
      return std::optional(std::move(fd));
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return NoSocket("cannot accept a peer's connection", errno);
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::optional<UniqueFd>();
    // Whoever called has gone again, or his network has: the next.
  }
}

absl::StatusOr<UniqueFd> StartConnect(const SocketAddress& address, absl::Duration silence_limit) {
  UniqueFd fd = MakeSocket(address);
  if (!fd) return NoSocket("cannot make a socket", errno);
  SetUp(fd.get(), silence_limit);
  sockaddr_storage storage;
  const socklen_t length = address.To(storage);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) == 0 ||
      errno == EINPROGRESS) {
    return fd;
  }
  // Of IPv6 it may say that this host has no address there.
  if (errno == EADDRNOTAVAIL && address.is_v4()) {
    return absl::ResourceExhaustedError(
        "no local port is free for one more connection: widen "
        "/proc/sys/net/ipv4/ip_local_port_range, or start fewer ranks on a host");
  }
  return absl::UnavailableError(strerror(errno));
}

absl::Status FinishConnect(int socket) {
  pollfd ready = {.fd = socket, .events = POLLOUT, .revents = 0};
  if (poll(&ready, 1, 0) <= 0) return absl::DeadlineExceededError("not connected yet");
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
  return error == 0 ? absl::OkStatus() : absl::UnavailableError(strerror(error));
}

void HangUp(UniqueFd& socket) {
  if (socket) shutdown(socket.get(), SHUT_RDWR);
  socket.reset();
}

}  // namespace weft
