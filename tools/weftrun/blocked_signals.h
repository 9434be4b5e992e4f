// The signals that a process takes from a descriptor instead of being interrupted
// by them. Used by one thread, before any other is there.
#ifndef WEFT_TOOLS_WEFTRUN_BLOCKED_SIGNALS_H_
#define WEFT_TOOLS_WEFTRUN_BLOCKED_SIGNALS_H_

#include <signal.h>

#include <initializer_list>

#include "absl/status/status.h"
#include "runtime/base/unique_fd.h"

namespace weft {

class BlockedSignals {
 public:
  // Takes `taken`, but those that the caller had this process ignore (nohup, a shell's &), and
  // SIGCHLD. Also blocked, and never seen: SIGPIPE (writing to a closed pipe is an error and no
  // death), SIGTTOU (nor does writing to a terminal from the background stop us), and `dropped`.
  absl::Status Block(std::initializer_list<int> taken, int dropped);

  // To wait on for one.
  int fd() const { return signals_.get(); }
  // The next that has come; 0: none.
  int Next();

  // What children start with.
  const sigset_t& mask_before() const { return mask_before_; }
  void CloseInChild() { signals_.reset(); }

 private:
  sigset_t mask_before_ = {};
  UniqueFd signals_;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_BLOCKED_SIGNALS_H_
