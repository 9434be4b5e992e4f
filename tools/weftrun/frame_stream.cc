#include "tools/weftrun/frame_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace weft {
namespace {

void MakeNonBlocking(const UniqueFd& fd) {
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace

FrameStream::FrameStream(UniqueFd in, UniqueFd out) : in_(std::move(in)), out_(std::move(out)) {
  MakeNonBlocking(in_);
  MakeNonBlocking(out_);
}

// Two descriptors, so that each can be watched for itself.
FrameStream::FrameStream(UniqueFd socket)
    : in_(fcntl(socket.get(), F_DUPFD_CLOEXEC, 3)), out_(std::move(socket)) {
  MakeNonBlocking(in_);
}

FrameStream::~FrameStream() { Close(); }

absl::Status FrameStream::Start(EventLoop& loop, OnFrame on_frame, OnEnd on_end) {
  loop_ = &loop;
  on_frame_ = std::move(on_frame);
  on_end_ = std::move(on_end);
  return loop.Add(in_.get(), EPOLLIN, [this](uint32_t) { Receive(); });
}

void FrameStream::Send(const Frame& frame) {
  if (!out_) return;
  outgoing_.append(EncodeFrame(frame));
  Flush();
}

void FrameStream::Flush() {
  while (out_ && pending() > 0) {
    const ssize_t count = write(out_.get(), outgoing_.data() + written_, pending());
    if (count >= 0) {
      written_ += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      // To one that is gone there is nothing to send; that it is, reading tells.
      written_ = outgoing_.size();
    }
  }
  if (pending() == 0 || written_ > outgoing_.size() / 2) {
    outgoing_.erase(0, written_);
    written_ = 0;
  }
  const bool wait = out_ && pending() > 0;
  if (loop_ == nullptr || wait == waits_for_room_) return;
  waits_for_room_ = wait;
  if (wait) {
    waits_for_room_ = loop_->Add(out_.get(), EPOLLOUT, [this](uint32_t) { Flush(); }).ok();
  } else {
    loop_->Remove(out_.get());
  }
}

void FrameStream::Drain(Deadline deadline) {
  Flush();
  while (pending() > 0 && !deadline.Expired()) {
    pollfd room = {.fd = out_.get(), .events = POLLOUT, .revents = 0};
    poll(&room, 1, 10);
    Flush();
  }
}

bool FrameStream::Receive() {
  if (!in_) return false;
  char buffer[64 * 1024];
  const ssize_t length = read(in_.get(), buffer, sizeof(buffer));
  if (length < 0 && errno == EINTR) return true;
  if (length < 0 && errno == EAGAIN) return false;
  if (length <= 0) {
    End(absl::OkStatus());
    return false;
  }
  heard_at_ = MonotonicNanos();
  incoming_.append(buffer, static_cast<size_t>(length));
  Take();
  return true;
}

void FrameStream::Take() {
  std::string bytes = std::exchange(incoming_, {});
  std::string_view left = bytes;
  while (in_) {
    auto frame = TakeFrame(left);
    if (!frame.ok()) {
      End(frame.status());
      return;
    }
    if (!frame->has_value()) break;
    on_frame_(**std::move(frame));
  }
  bytes.erase(0, bytes.size() - left.size());
  incoming_ = std::move(bytes);
}

void FrameStream::End(const absl::Status& why) {
  const OnEnd on_end = std::move(on_end_);
  Close();
  if (on_end) on_end(why);
}

void FrameStream::Close() {
  if (loop_ != nullptr && in_) loop_->Remove(in_.get());
  if (waits_for_room_) loop_->Remove(out_.get());
  waits_for_room_ = false;
  in_.reset();
  out_.reset();
  outgoing_.clear();
  written_ = 0;
  on_end_ = nullptr;
}

void FrameStream::CloseInChild() {
  in_.reset();
  out_.reset();
  waits_for_room_ = false;
}

std::pair<UniqueFd, UniqueFd> MakeLifeline() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace weft
