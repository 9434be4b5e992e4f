// The atomics and signals that a peer's agent was asked to carry out, and has not answered.
//
// A request is over when it was answered and its messages were sent: until then the device may
// read the memory of a put that it closes. At most kMost are unanswered, and the transport
// keeps a receive for each reply; so a reply never waits for the one that it is for.
//
// Guarded by the transport's lock.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_REQUESTS_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_REQUESTS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "runtime/transport/transport.h"

namespace weft {

class Requests {
 public:
  static constexpr uint32_t kMost = 16;
  // Told of each request that is over, once.
  using Ended = absl::FunctionRef<void(uint64_t token, Event::Result result)>;

  bool full() const { return occupied_ == kMost; }
  // Those that are not over.
  uint32_t under_way() const { return under_way_; }

  // A request on `lane`, which is not full; its number, never 0. The old value of `length`
  // bytes goes to `local` unless that is null.
  uint32_t Begin(Lane lane, uint64_t token, void* local, uint64_t length);
  // Its message left, or failed.
  void OnSent(uint32_t number, Event::Result result, Ended ended);
  // A reply arrived: to any number, for it comes from another process.
  void OnReply(uint32_t number, Event::Result result, uint64_t old, Ended ended);

  // Ends those of `lane`. Their places stay taken, since replies may still come, until they
  // have, or until none can come any more: Forget.
  void EndLane(Lane lane, Ended ended);
  void Forget(Lane lane);

 private:
  struct Place {
    uint32_t number = 0;  // 0: free.
    Lane lane = Lane::kSmall;
    bool sent = false;
    bool answered = false;
    bool over = false;
    Event::Result result = Event::Result::kOk;  // Of the answer.
    uint8_t length = 0;
    uint64_t token = 0;
    void* local = nullptr;
  };

  Place* Find(uint32_t number);
  void End(Place& place, Event::Result result, Ended ended);
  void Free(Place& place);

  Place places_[kMost];
  uint32_t occupied_ = 0;
  uint32_t under_way_ = 0;
  uint32_t generation_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_REQUESTS_H_
