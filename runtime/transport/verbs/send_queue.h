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
#include "runtime/transport/transport.h"
#include "runtime/transport/verbs/queue_pair.h"

namespace weft {

class SendQueue {
 public:
  // What ends with a request: an operation, or its part in a request to the peer's agent
  // (its number); or nothing.
  struct Mark {
    uint64_t token = 0;
    uint32_t request = 0;
  };
  // Told of each mark that is something.
  using Ended = absl::FunctionRef<void(const Mark& mark, Event::Result result)>;

  // Without a queue pair, until Renew. Depth: a power of two. `proves`: only completions that
  // say so prove that earlier requests have succeeded.
  SendQueue(uint32_t depth, bool proves);

  QueuePair& pair() { return pair_; }
  size_t room() const { return depth_ - under_way(); }
  uint32_t under_way() const { return tail_ - head_; }

  // The position of the next request, which is part of its completion.
  uint32_t next() const { return tail_; }
  // Whether all before that position are over.
  bool Passed(uint32_t position) const { return tail_ - position >= under_way(); }
  // A request was posted, with which that ends.
  void Push(const Mark& mark) { marks_[tail_++ % depth_] = mark; }
  // The last `count` requests were refused.
  void Unpush(uint32_t count) { tail_ -= count; }
  const Mark& mark(uint32_t position) const { return marks_[position % depth_]; }

  // A completion of the request at `position`: those before it have succeeded, or, if that is
  // to be proved, have its result. False: it is one of a queue pair that was destroyed.
  bool Complete(uint32_t position, Event::Result result, Ended ended);
  // Ends what is under way, with the queue pair.
  void Destroy(Event::Result result, Ended ended);
  // Goes on with another, whose completions come behind all those of a former one.
  void Renew(QueuePair pair) { pair_ = std::move(pair); }

 private:
  // Ends the oldest request.
  void EndFirst(Event::Result result, Ended ended);

  QueuePair pair_;
  uint32_t depth_;
  bool proves_;
  std::unique_ptr<Mark[]> marks_;
  // Of requests, counted for ever.
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_SEND_QUEUE_H_
