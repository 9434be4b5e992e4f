// Events that Poll is yet to tell, in their order. Its room grows with Reserve only where that
// covers what is outstanding, so that Push does not allocate. One thread at a time.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_EVENT_QUEUE_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_EVENT_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "runtime/transport/transport.h"

namespace weft {

class EventQueue {
 public:
  // Room for `count` more at any time.
  void Reserve(size_t count) { events_.reserve(events_.capacity() + count); }

  bool empty() const { return head_ == events_.size(); }

  void Push(const Event& event) {
    if (events_.size() == events_.capacity() && head_ > 0) {
      events_.erase(events_.begin(), events_.begin() + static_cast<ptrdiff_t>(head_));
      head_ = 0;
    }
    events_.push_back(event);
  }

  // Takes a prefix.
  size_t Take(std::span<Event> to) {
    const size_t count = std::min(to.size(), events_.size() - head_);
    std::copy_n(events_.begin() + static_cast<ptrdiff_t>(head_), count, to.begin());
    head_ += count;
    if (empty()) {
      events_.clear();
      head_ = 0;
    }
    return count;
  }

 private:
  std::vector<Event> events_;
  size_t head_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_EVENT_QUEUE_H_
