#include "runtime/transport/verbs/send_queue.h"

namespace weft {

SendQueue::SendQueue(uint32_t depth, bool proves)
    : depth_(depth), proves_(proves), marks_(std::make_unique<Mark[]>(depth)) {}

void SendQueue::EndFirst(Event::Result result, Ended ended) {
  const Mark ends = mark(head_++);
  if (ends.token != 0 || ends.request != 0) ended(ends, result);
}

bool SendQueue::Complete(uint32_t position, Event::Result result, Ended ended) {
  if (position - head_ >= under_way()) return false;
  const Event::Result earlier = proves_ ? result : Event::Result::kOk;
  while (head_ != position) EndFirst(earlier, ended);
  EndFirst(result, ended);
  return true;
}

void SendQueue::Destroy(Event::Result result, Ended ended) {
  pair_.Destroy();
  while (head_ != tail_) EndFirst(result, ended);
}

}  // namespace weft
