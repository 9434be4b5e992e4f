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
  // Told of each operation that ended. Not of those with token 0.
  using Ended = absl::FunctionRef<void(uint64_t token, Event::Result result)>;

  // Depth: a power of two.
  SendQueue(QueuePair pair, uint32_t depth);

  QueuePair& pair() { return pair_; }
  size_t room() const { return depth_ - under_way(); }
  uint32_t under_way() const { return tail_ - head_; }

  // The position of the next request, which is part of its completion.
  uint32_t next() const { return tail_; }
  // A request was posted as the last of the operation with that token; 0: of none.
  void Push(uint64_t token) { tokens_[tail_++ % depth_] = token; }
  // The last `count` requests were refused.
  void Unpush(uint32_t count) { tail_ -= count; }
  uint64_t token(uint32_t position) const { return tokens_[position % depth_]; }

  // A completion of the request at `position`: those before it have succeeded. False: it is
  // one of a queue pair that was destroyed.
  bool Complete(uint32_t position, Event::Result result, Ended ended);
  // Ends what is under way, with the queue pair.
  void Destroy(Event::Result result, Ended ended);
  // Goes on with another, whose completions come behind all those of the one destroyed.
  void Renew(QueuePair pair) { pair_ = std::move(pair); }

 private:
  QueuePair pair_;
  uint32_t depth_;
  std::unique_ptr<uint64_t[]> tokens_;
  // Of requests, counted for ever.
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_SEND_QUEUE_H_
