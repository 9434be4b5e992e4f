// What a device tells on its own account: that it, a queue or a port has failed. After some of
// these no completion comes any more, so that whoever waits for one must be told by them.
//
// An event's object must not be destroyed while the event is taken: call it with the
// transport's lock held, as all that destroys queue pairs.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_ASYNC_EVENTS_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_ASYNC_EVENTS_H_

#include <cstdint>
#include <optional>

#include "runtime/transport/verbs/device.h"

namespace weft {

struct AsyncEvent {
  // What has failed.
  enum class Object : uint8_t {
    kDevice,  // All of it.
    kQueues,  // A completion queue or the shared receive queue: ours belong to all pairs.
    kPair,
    // Nothing. Addresses that change are looked up when the next queue pair connects; a port
    // that is down may come back, and if it does not, retries run out. Of another port, likewise.
    kNone,
  };

  Object object = Object::kNone;
  uint32_t pair_number = 0;  // kPair only.
};

// The next that `device` has; nullopt: none so far. A device that is gone says so for ever.
std::optional<AsyncEvent> TakeAsyncEvent(const VerbsDevice& device);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_ASYNC_EVENTS_H_
