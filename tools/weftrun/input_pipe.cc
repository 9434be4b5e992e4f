#include "tools/weftrun/input_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {

absl::Status InputPipe::Open(EventLoop& loop, std::function<void(uint64_t)> on_taken) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a pipe for standard input: ", strerror(errno)));
  }
  const UniqueFd read_end(ends[0]);
  pipe_.reset(ends[1]);
  fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
  dup2(read_end.get(), STDIN_FILENO);
  loop_ = &loop;
  on_taken_ = std::move(on_taken);
  return absl::OkStatus();
}

void InputPipe::Write(std::string_view text) {
  if (text.empty()) at_end_ = true;
  pending_.append(text);
  Flush();
}

void InputPipe::Flush() {
  uint64_t taken = 0;
  while (pipe_ && !pending_.empty()) {
    const ssize_t count = write(pipe_.get(), pending_.data(), pending_.size());
    if (count >= 0) {
      taken += static_cast<uint64_t>(count);
      pending_.erase(0, static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      Close();  // Nobody reads it any more.
    }
  }
  if (!pipe_) pending_.clear();
  const bool wait = pipe_ && !pending_.empty();
  if (wait != waits_for_room_) {
    waits_for_room_ = wait;
    if (wait) {
      loop_->Add(pipe_.get(), EPOLLOUT, [this](uint32_t) { Flush(); }).IgnoreError();
    } else if (pipe_) {
      loop_->Remove(pipe_.get());
    }
  }
  if (at_end_ && pending_.empty()) Close();
  if (taken > 0) on_taken_(taken);
}

void InputPipe::Close() {
  if (waits_for_room_ && pipe_) loop_->Remove(pipe_.get());
  waits_for_room_ = false;
  pipe_.reset();
}

}  // namespace weft
