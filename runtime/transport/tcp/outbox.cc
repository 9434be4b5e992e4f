#include "runtime/transport/tcp/outbox.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

namespace weft {
namespace {

constexpr size_t kTurn = 256 << 10;

}  // namespace

std::byte* Outbox::Extend(size_t bytes) {
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
  if (head_ == tail_) {
    head_ = tail_ = 0;
  } else if (capacity_ - tail_ < bytes) {
    std::memmove(buffer_.get(), buffer_.get() + head_, tail_ - head_);
    tail_ -= head_;
    head_ = 0;
  }
  std::byte* const at = buffer_.get() + tail_;
  tail_ += bytes;
  return at;
}

void Outbox::SetBlock(const void* block, size_t bytes) {
  block_ = static_cast<const std::byte*>(block);
  block_bytes_ = bytes;
}

bool Outbox::Send(int socket) {
  for (size_t turn = 0; !empty() && turn < kTurn;) {
    const size_t small = tail_ - head_;
    iovec parts[2] = {{buffer_.get() + head_, small},
                      {const_cast<std::byte*>(block_), std::min(block_bytes_, kTurn)}};
    msghdr message = {};
    message.msg_iov = small > 0 ? parts : parts + 1;
    message.msg_iovlen = (small > 0 ? 1 : 0) + (block_bytes_ > 0 ? 1 : 0);
    const ssize_t sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    const size_t of_small = std::min<size_t>(sent, small);
    const size_t of_block = static_cast<size_t>(sent) - of_small;
    turn += static_cast<size_t>(sent);
    head_ += of_small;
    block_ += of_block;
    block_bytes_ -= of_block;
  }
  return true;
}

void Outbox::Clear() {
  head_ = tail_ = 0;
  block_ = nullptr;
  block_bytes_ = 0;
}

}  // namespace weft
