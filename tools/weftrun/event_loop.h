// Descriptors and what to do when they are ready: a thin layer on epoll. Used
// by one thread. A loop is a descriptor itself, so that a group of descriptors
// can be a loop in another loop, and be taken out of it at one stroke.
#ifndef WEFT_TOOLS_WEFTRUN_EVENT_LOOP_H_
#define WEFT_TOOLS_WEFTRUN_EVENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "absl/status/status.h"
#include "runtime/base/deadline.h"
#include "runtime/base/unique_fd.h"

namespace weft {

class EventLoop {
 public:
  // Called with the EPOLL* events that are there.
  using Handler = std::function<void(uint32_t events)>;

  EventLoop();

  // `fd` stays the caller's, who must Remove it before closing it.
  absl::Status Add(int fd, uint32_t events, Handler handler);
  void Change(int fd, uint32_t events);
  // May be called from any handler.
  void Remove(int fd);

  // Waits until something is ready or the deadline has passed, and handles what
  // is ready.
  void RunOnce(Deadline deadline);

  int fd() const { return epoll_.get(); }

 private:
  UniqueFd epoll_;
  std::unordered_map<int, Handler> handlers_;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_EVENT_LOOP_H_
