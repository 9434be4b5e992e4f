// Writes to one of weftrun's own standard streams without ever blocking, and
// without making the stream non-blocking for the others who share it. Used by
// one thread.
#ifndef WEFT_TOOLS_WEFTRUN_STREAM_WRITER_H_
#define WEFT_TOOLS_WEFTRUN_STREAM_WRITER_H_

#include <string>
#include <string_view>

#include "runtime/base/unique_fd.h"

namespace weft {

class StreamWriter {
 public:
  explicit StreamWriter(int stream);

  void Append(std::string_view text) {
    if (error_ == 0) pending_.append(text);
  }
  // Writes what the stream takes now.
  void Flush();

  size_t pending() const { return pending_.size() - written_; }
  // Why the stream takes nothing any more; 0 while it does.
  int error() const { return error_; }
  // To wait for room on.
  int fd() const { return stream_; }

 private:
  enum class Kind { kNonBlocking, kSocket, kBlocking };

  // As write(), but EAGAIN where it would block.
  long WriteSome(std::string_view text);

  int stream_;
  UniqueFd own_;  // The stream opened anew, with its own flags.
  Kind kind_ = Kind::kBlocking;
  std::string pending_;
  size_t written_ = 0;  // Of `pending_`.
  int error_ = 0;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_STREAM_WRITER_H_
