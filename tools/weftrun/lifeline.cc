#include "tools/weftrun/lifeline.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>

namespace weft {
namespace {

struct Header {
  LifelineMessage::Type type;
  int32_t number;
};
constexpr size_t kMaxText = 8192;

}  // namespace

std::pair<UniqueFd, UniqueFd> MakeLifeline() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return {};
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool SendLifeline(int fd, const LifelineMessage& message, bool wait) {
  Header header = {message.type, message.number};
  iovec parts[2] = {
      {.iov_base = &header, .iov_len = sizeof(header)},
      {.iov_base = const_cast<char*>(message.text.data()),
       .iov_len = std::min(message.text.size(), kMaxText)},
  };
  msghdr datagram = {};
  datagram.msg_iov = parts;
  datagram.msg_iovlen = 2;
  ssize_t sent;
  do {
    sent = sendmsg(fd, &datagram, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

LifelineReceived ReceiveLifeline(int fd) {
  char buffer[sizeof(Header) + kMaxText];
  ssize_t length;
  do {
    length = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
  } while (length < 0 && errno == EINTR);
  if (length < 0 && errno == EAGAIN) return {};
  if (length < static_cast<ssize_t>(sizeof(Header))) return {.closed = true, .message = {}};
  Header header;
  memcpy(&header, buffer, sizeof(header));
  return {.closed = false,
          .message = LifelineMessage{
              header.type, header.number,
              std::string(buffer + sizeof(header), static_cast<size_t>(length) - sizeof(header))}};
}

}  // namespace weft
