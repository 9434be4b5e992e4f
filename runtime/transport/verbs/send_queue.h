// The sending side of one queue pair: what is under way on it, and in which order.
//
// Work requests of a queue pair complete in the order in which they were posted, so
// one completion at the end of a burst tells of the whole burst: only the last
// request asks for one. The queue never holds more than its depth, so neither the
// queue pair nor its completion queue can overrun.
//
// Guarded by the transport's lock.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_SEND_QUEUE_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_SEND_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "runtime/transport/verbs/queue_pair.h"

namespace weft {

class SendQueue {
 public:
  // What ends with a request: an operation, or its part in a request to the peer's agent
  // (its number). With most requests nothing does.
  struct Mark {
    uint64_t token = 0;
    uint32_t request = 0;
    uint32_t position = 0;
  };

  // Without a queue pair, until Renew. Depth: a power of two.
  explicit SendQueue(uint32_t depth) : mask_(depth - 1), marks_(std::make_unique<Mark[]>(depth)) {}

  QueuePair& pair() { return pair_; }
  uint32_t room() const { return mask_ + 1 - under_way(); }
  uint32_t under_way() const { return tail_ - head_; }

  // The position of the next request, which is part of its completion.
  uint32_t next() const { return tail_; }
  // Whether all before that position are over.
  bool Passed(uint32_t position) const { return tail_ - position >= under_way(); }
  // That many requests were posted.
  void Push(uint32_t count) { tail_ += count; }
  // A request was posted, with which that operation ends, or that request to the agent.
  void PushMarked(uint64_t token, uint32_t request) {
    mark(marks_tail_++) = {.token = token, .request = request, .position = tail_++};
  }
  // The last `count` requests were refused; `ended` is told of each mark of theirs.
  void Refuse(uint32_t count, absl::FunctionRef<void(const Mark& mark)> ended) {
    tail_ -= count;
    uint32_t first = marks_tail_;
    while (first != marks_head_ && mark(first - 1).position - tail_ < count) --first;
    for (uint32_t i = first; i != marks_tail_; ++i) ended(mark(i));
    marks_tail_ = first;
  }

  // A completion of the request at `position` tells that all up to it are over; how many
  // those are. 0: it is one of a queue pair that was destroyed.
  uint32_t Advance(uint32_t position) {
    const uint32_t count = position - head_ + 1;
    if (count > under_way()) return 0;
    head_ += count;
    return count;
  }
  // Ends what is under way, with the queue pair.
  void Destroy() {
    pair_.Destroy();
    head_ = tail_;
  }
  // The mark of a request that is over, each once, in their order; null: there is none left.
  // Valid until the next push.
  const Mark* Ended() {
    if (marks_head_ == marks_tail_) return nullptr;
    const Mark& first = mark(marks_head_);
    if (static_cast<int32_t>(first.position - head_) >= 0) return nullptr;
    ++marks_head_;
    return &first;
  }
  // Goes on with another, whose completions come behind all those of a former one.
  void Renew(QueuePair pair) { pair_ = std::move(pair); }

 private:
  Mark& mark(uint32_t index) { return marks_[index & mask_]; }

  QueuePair pair_;
  uint32_t mask_;  // The depth less 1.
  std::unique_ptr<Mark[]> marks_;
  // Of requests, and of marks, counted for ever.
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
  uint32_t marks_head_ = 0;
  uint32_t marks_tail_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_SEND_QUEUE_H_
