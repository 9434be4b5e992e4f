#include "runtime/transport/verbs/async_events.h"

#include <errno.h>

namespace weft {
namespace {

AsyncEvent Translate(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_DEVICE_FATAL:
      return {.object = AsyncEvent::Object::kDevice};
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
      return {.object = AsyncEvent::Object::kQueues};
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      return {.object = AsyncEvent::Object::kPair, .pair_number = event.element.qp->qp_num};
    default:
      return {};
  }
}

}  // namespace

std::optional<AsyncEvent> TakeAsyncEvent(const VerbsDevice& device) {
  ibv_async_event event;
  if (device.library().get_async_event(device.context(), &event) != 0) {
    if (errno == EAGAIN || errno == EINTR) return std::nullopt;
    return AsyncEvent{.object = AsyncEvent::Object::kDevice};  // Its driver has gone.
  }
  const AsyncEvent translated = Translate(event);
  device.library().ack_async_event(&event);
  return translated;
}

}  // namespace weft
