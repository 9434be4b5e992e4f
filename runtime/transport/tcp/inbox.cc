#include "runtime/transport/tcp/inbox.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace weft {

Received ReceiveInto(int socket, std::byte* to, size_t bytes) {
  for (;;) {
    const ssize_t got = recv(socket, to, bytes, MSG_DONTWAIT);
    if (got > 0) return {.kind = Received::Kind::kSome, .bytes = static_cast<size_t>(got)};
    if (got == 0) return {.kind = Received::Kind::kClosed};
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
    return {.kind = Received::Kind::kBroken, .error = errno};
  }
}

Received Inbox::Fill(int socket, size_t limit) {
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
  if (head_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + head_, tail_ - head_);
    tail_ -= head_;
    head_ = 0;
  }
  const Received received =
      ReceiveInto(socket, buffer_.get() + tail_, std::min(limit, capacity_) - tail_);
  tail_ += received.bytes;
  return received;
}

}  // namespace weft
