#include "runtime/transport/verbs/send_queue.h"

#include <utility>

namespace weft {

SendQueue::SendQueue(QueuePair pair, uint32_t depth)
    : pair_(std::move(pair)), depth_(depth), tokens_(std::make_unique<uint64_t[]>(depth)) {}

bool SendQueue::Complete(uint32_t position, Event::Result result, Ended ended) {
  if (position - head_ >= under_way()) return false;
  while (true) {
    const bool last = head_ == position;
    const uint64_t ended_token = token(head_++);
    if (ended_token != 0) ended(ended_token, last ? result : Event::Result::kOk);
    if (last) return true;
  }
}

void SendQueue::Destroy(Event::Result result, Ended ended) {
  pair_.Destroy();
  while (head_ != tail_) {
    const uint64_t ended_token = token(head_++);
    if (ended_token != 0) ended(ended_token, result);
  }
}

}  // namespace weft
