#include "runtime/transport/tcp/socket_set.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// How long after its last sign a thread still counts as polling, and how often it gives one.
constexpr int64_t kAttendedNanos = 100'000;
constexpr int64_t kPushNanos = 40'000;

// How the two in `waits_` are told apart.
constexpr uint64_t kSockets = 0;
constexpr uint64_t kTimer = 1;

void SetEvents(int epoll, int fd, uint32_t events, uint64_t data) {
  epoll_event event = {.events = events, .data = {.u64 = data}};
  epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SocketSet>> SocketSet::Make() {
  std::unique_ptr<SocketSet> set(new SocketSet);
  set->sockets_.reset(epoll_create1(EPOLL_CLOEXEC));
  set->waits_.reset(epoll_create1(EPOLL_CLOEXEC));
  set->timer_.reset(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  epoll_event sockets = {.events = EPOLLIN, .data = {.u64 = kSockets}};
  epoll_event timer = {.events = EPOLLIN, .data = {.u64 = kTimer}};
  if (!set->sockets_ || !set->waits_ || !set->timer_ ||
      epoll_ctl(set->waits_.get(), EPOLL_CTL_ADD, set->sockets_.get(), &sockets) != 0 ||
      epoll_ctl(set->waits_.get(), EPOLL_CTL_ADD, set->timer_.get(), &timer) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make what waits for sockets: ", strerror(errno),
                     "; raise the limit on open files (ulimit -n)"));
  }
  set->in_sight_ = true;
  return set;
}

absl::Status SocketSet::Add(const SocketTag& tag, bool writable) {
  epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0u),
                       .data = {.u64 = std::bit_cast<uint64_t>(tag)}};
  if (epoll_ctl(sockets_.get(), EPOLL_CTL_ADD, tag.socket, &event) == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot wait for one more socket: ", strerror(errno),
                   "; raise /proc/sys/fs/epoll/max_user_watches"));
}

void SocketSet::Change(const SocketTag& tag, bool readable, bool writable) {
  SetEvents(sockets_.get(), tag.socket, (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u),
            std::bit_cast<uint64_t>(tag));
}

void SocketSet::Remove(int socket) {
  if (socket >= 0) epoll_ctl(sockets_.get(), EPOLL_CTL_DEL, socket, nullptr);
}

std::span<const SocketTag> SocketSet::Ready() {
  epoll_event events[kBurst];
  const int count = epoll_wait(sockets_.get(), events, kBurst, 0);
  for (int i = 0; i < count; ++i) ready_[i] = std::bit_cast<SocketTag>(events[i].data.u64);
  return std::span(ready_).first(std::max(count, 0));
}

void SocketSet::Attend() {
  if (in_sight_.load(std::memory_order_relaxed)) {
    pushed_at_ = MonotonicNanos();
    Leave();
    return;
  }
  if (++attends_ % kAttendsALook != 0) return;
  const int64_t now = MonotonicNanos();
  if (now - pushed_at_ < kPushNanos) return;
  pushed_at_ = now;
  PushTimer();
}

void SocketSet::Leave() {
  in_sight_.store(false, std::memory_order_relaxed);
  SetEvents(waits_.get(), sockets_.get(), 0, kSockets);
  PushTimer();
}

void SocketSet::PushTimer() {
  const itimerspec ahead = {.it_interval = {},
                            .it_value = {.tv_sec = 0, .tv_nsec = kAttendedNanos}};
  timerfd_settime(timer_.get(), 0, &ahead, nullptr);
}

bool SocketSet::Wait(Deadline deadline) {
  for (;;) {
    const int64_t nanos = deadline.RemainingNanos();
    const int timeout =
        static_cast<int>(std::min<int64_t>((nanos + 999'999) / 1'000'000, 1'000'000));
    epoll_event events[2];
    const int count = epoll_wait(waits_.get(), events, 2, timeout);
    bool ready = false;
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 == kSockets) {
        ready = true;
        continue;
      }
      uint64_t ignored;
      if (read(timer_.get(), &ignored, sizeof(ignored)) < 0) continue;
      SetEvents(waits_.get(), sockets_.get(), EPOLLIN, kSockets);
      in_sight_.store(true, std::memory_order_relaxed);
    }
    if (ready) return true;
    if (deadline.Expired()) return false;
  }
}

}  // namespace weft
