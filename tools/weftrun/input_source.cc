#include "tools/weftrun/input_source.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tools/weftrun/channel_times.h"
#include "tools/weftrun/frame.h"

namespace weft {

InputSource::InputSource(UniqueFd input, EventLoop& loop, std::function<void(std::string)> send)
    : input_(std::move(input)), loop_(loop), send_(std::move(send)) {}

void InputSource::Start() {
  struct stat file;
  always_ready_ = fstat(input_.get(), &file) == 0 && S_ISREG(file.st_mode);
  Taken(0);
}

bool InputSource::HasRoom() const { return under_way_ < kInputWindow; }

void InputSource::Taken(uint64_t bytes) {
  under_way_ -= std::min(under_way_, bytes);
  if (!input_ || !HasRoom()) return;
  if (!always_ready_) {
    Watch(true);
    return;
  }
  while (input_ && HasRoom() && Read()) {
  }
}

void InputSource::Watch(bool watch) {
  if (watch == watching_) return;
  watching_ = watch;
  if (!watch) {
    loop_.Remove(input_.get());
    return;
  }
  const absl::Status watched = loop_.Add(input_.get(), EPOLLIN, [this](uint32_t) {
    if (Read() && !HasRoom()) Watch(false);
  });
  if (watched.ok()) return;
  // A device that is always ready (/dev/null) cannot be watched either.
  watching_ = false;
  always_ready_ = true;
  Taken(0);
}

bool InputSource::Read() {
  char buffer[kMaxInputBytes];
  const ssize_t length = read(input_.get(), buffer, sizeof(buffer));
  if (length < 0 && (errno == EINTR || errno == EAGAIN)) return errno == EINTR;
  if (length <= 0) {
    Watch(false);
    input_.reset();
    send_("");
    return false;
  }
  under_way_ += static_cast<uint64_t>(length);
  send_(std::string(buffer, static_cast<size_t>(length)));
  return true;
}

}  // namespace weft
