#include "tools/weftrun/stream_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"

namespace weft {

StreamWriter::StreamWriter(int stream) : stream_(stream) {
  struct stat file;
  if (fstat(stream, &file) != 0) return;
  if (S_ISSOCK(file.st_mode)) {
    kind_ = Kind::kSocket;
  } else if (S_ISFIFO(file.st_mode) || S_ISCHR(file.st_mode)) {
    own_.reset(open(absl::StrCat("/proc/self/fd/", stream).c_str(),
                    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!own_) return;  // Another user's pipe, say.
    kind_ = Kind::kNonBlocking;
    stream_ = own_.get();
  }
}

void StreamWriter::Flush() {
  while (error_ == 0 && pending() > 0) {
    const long count = WriteSome(std::string_view(pending_).substr(written_));
    if (count >= 0) {
      written_ += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  if (pending() == 0 || error_ != 0) {
    pending_.clear();
    written_ = 0;
  } else if (written_ > pending_.size() / 2) {
    pending_.erase(0, written_);
    written_ = 0;
  }
}

long StreamWriter::WriteSome(std::string_view text) {
  switch (kind_) {
    case Kind::kNonBlocking:
      return write(stream_, text.data(), text.size());
    case Kind::kSocket:
      return send(stream_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    case Kind::kBlocking: {
      // So much goes in when poll says that there is room; a file always has.
      pollfd room = {.fd = stream_, .events = POLLOUT, .revents = 0};
      if (poll(&room, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
      }
      return write(stream_, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    }
  }
  return 0;
}

}  // namespace weft
