// Standard input for a rank, as it comes from elsewhere: puts a pipe in the place
// of this process's own standard input, for a guard to inherit, and writes into
// it without blocking. Used by one thread.
#ifndef WEFT_TOOLS_WEFTRUN_INPUT_PIPE_H_
#define WEFT_TOOLS_WEFTRUN_INPUT_PIPE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/base/unique_fd.h"
#include "tools/weftrun/event_loop.h"

namespace weft {

class InputPipe {
 public:
  ~InputPipe() { Close(); }

  // `on_taken` is called with each number of bytes that the rank's side has taken. `loop`
  // must outlive this.
  absl::Status Open(EventLoop& loop, std::function<void(uint64_t bytes)> on_taken);

  // Nothing: the input's end, once the rest is written.
  void Write(std::string_view text);
  // Gives the pipe up; before the first Write in a forked child too.
  void Close();

 private:
  void Flush();

  EventLoop* loop_ = nullptr;
  std::function<void(uint64_t)> on_taken_;
  UniqueFd pipe_;
  std::string pending_;
  bool at_end_ = false;
  bool waits_for_room_ = false;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_INPUT_PIPE_H_
