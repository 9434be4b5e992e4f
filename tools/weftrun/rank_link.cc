#include "tools/weftrun/rank_link.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <span>

#include "runtime/bootstrap/channel.h"

namespace weft {
namespace {

UniqueFd Copy(const UniqueFd& fd) { return UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 3)); }

}  // namespace

void RankLink::Send(std::string datagram, const NodeFds* fds) {
  if (outgoing_.empty() && Transmit(datagram, fds)) return;
  Outgoing outgoing = {std::move(datagram), {}};
  if (fds != nullptr) {
    outgoing.fds = {Copy(fds->heap), Copy(fds->control), Copy(fds->membership)};
  }
  outgoing_.push_back(std::move(outgoing));
}

void RankLink::Flush() {
  while (!outgoing_.empty()) {
    const Outgoing& first = outgoing_.front();
    if (!Transmit(first.datagram, first.fds.heap ? &first.fds : nullptr)) return;
    outgoing_.pop_front();
  }
}

bool RankLink::Transmit(const std::string& datagram, const NodeFds* fds) {
  int numbers[kMaxChannelFds];
  size_t count = 0;
  if (fds != nullptr) {
    for (const UniqueFd* fd : {&fds->heap, &fds->control, &fds->membership}) {
      numbers[count++] = fd->get();
    }
  }
  const absl::Status sent = SendDatagram(socket_.get(), datagram, std::span(numbers, count),
                                         Deadline::AtMonotonicNanos(0));
  // To one that is gone there is nothing to send any more.
  return !absl::IsDeadlineExceeded(sent);
}

bool RankLink::Receive(int limit,
                       const std::function<void(pid_t sender, std::string_view datagram)>& handle) {
  for (int i = 0; i < limit; ++i) {
    auto datagram = ReceiveDatagram(socket_.get(), Deadline::AtMonotonicNanos(0));
    if (absl::IsUnavailable(datagram.status())) return false;
    if (absl::IsDeadlineExceeded(datagram.status())) return true;
    // Descriptors that a rank sends are closed again here.
    handle(datagram.ok() ? datagram->sender : 0,
           datagram.ok() ? std::string_view(datagram->bytes) : std::string_view());
  }
  return true;
}

std::pair<UniqueFd, UniqueFd> MakeRankSocket() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return {};
  std::pair<UniqueFd, UniqueFd> made = {UniqueFd(ends[0]), UniqueFd(ends[1])};
  const int on = 1;
  setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
  return made;
}

}  // namespace weft
