#include "tools/weftrun/event_loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// Rounded up, so that a loop does not spin through the last millisecond.
int Milliseconds(Deadline deadline) {
  if (deadline.infinite()) return -1;
  constexpr int64_t kHour = 3'600'000;
  return static_cast<int>(std::min(kHour, (deadline.RemainingNanos() + 999'999) / 1'000'000));
}

}  // namespace

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

absl::Status EventLoop::Add(int fd, uint32_t events, Handler handler) {
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot watch a descriptor: ", strerror(errno)));
  }
  handlers_[fd] = std::move(handler);
  return absl::OkStatus();
}

void EventLoop::Change(int fd, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::Remove(int fd) {
  if (handlers_.erase(fd) != 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::RunOnce(Deadline deadline) {
  epoll_event events[64];
  const int count = epoll_wait(epoll_.get(), events, std::size(events), Milliseconds(deadline));
  for (int i = 0; i < count; ++i) {
    // An earlier handler may have removed it.
    const auto entry = handlers_.find(events[i].data.fd);
    if (entry == handlers_.end()) continue;
    const Handler handler = entry->second;  // A copy: a handler may remove itself.
    handler(events[i].events);
  }
}

}  // namespace weft
