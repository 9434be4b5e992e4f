#include "runtime/bootstrap/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "absl/strings/str_cat.h"
#include "runtime/bootstrap/wire.h"

namespace weft {
namespace {

// Whether `socket` was ready for `events` (or failed) by the deadline.
bool WaitFor(int socket, short events, Deadline deadline) {
  while (true) {
    pollfd poll = {.fd = socket, .events = events, .revents = 0};
    timespec left = {};
    if (!deadline.infinite()) {
      left.tv_sec = deadline.RemainingNanos() / 1'000'000'000;
      left.tv_nsec = deadline.RemainingNanos() % 1'000'000'000;
    }
    const int ready = ppoll(&poll, 1, deadline.infinite() ? nullptr : &left, nullptr);
    if (ready > 0) return true;
    if (deadline.Expired()) return false;
    if (ready < 0 && errno != EINTR && errno != EAGAIN) return true;  // The call after says why.
  }
}

// ETOOMANYREFS: this user has as many descriptors in flight as it may have.
bool IsFull(int error) { return error == EAGAIN || error == ENOBUFS || error == ETOOMANYREFS; }

}  // namespace

absl::Status SendDatagram(int socket, std::string_view bytes, std::span<const int> fds,
                          Deadline deadline) {
  iovec part = {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxChannelFds * sizeof(int))] = {};
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  while (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    if (!IsFull(errno)) {
      return absl::UnavailableError(absl::StrCat("the other end is gone: ", strerror(errno)));
    }
    if (deadline.Expired() || !WaitFor(socket, POLLOUT, deadline)) {
      return absl::DeadlineExceededError("the other end does not take a message");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Datagram> ReceiveDatagram(int socket, Deadline deadline) {
  char buffer[kMaxWireBytes];
  alignas(
      cmsghdr) char control[CMSG_SPACE(kMaxChannelFds * sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
  iovec part = {.iov_base = buffer, .iov_len = sizeof(buffer)};
  msghdr message = {};
  ssize_t length;
  while (true) {
    message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    length = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length >= 0) break;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) {
      return absl::UnavailableError(absl::StrCat("the other end is gone: ", strerror(errno)));
    }
    if (deadline.Expired() || !WaitFor(socket, POLLIN, deadline)) {
      return absl::DeadlineExceededError("nothing has arrived");
    }
  }
  Datagram datagram;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET) continue;
    if (c->cmsg_type == SCM_RIGHTS) {
      const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd;
        memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        datagram.fds.emplace_back(fd);
      }
    } else if (c->cmsg_type == SCM_CREDENTIALS) {
      ucred sender;
      memcpy(&sender, CMSG_DATA(c), sizeof(sender));
      datagram.sender = sender.pid;
    }
  }
  // No message of ours is empty, so this is the end of the connection.
  if (length == 0) return absl::UnavailableError("the other end has closed the connection");
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return absl::ResourceExhaustedError(
        "descriptors sent with a message were lost: raise the limit on open files (ulimit -n)");
  }
  // What did not fit keeps one byte too many for any decoder to accept.
  datagram.bytes.assign(buffer, static_cast<size_t>(length));
  if ((message.msg_flags & MSG_TRUNC) != 0) datagram.bytes.push_back('\0');
  return datagram;
}

}  // namespace weft
