#include "tests/support/gate_transport.h"

#include <algorithm>

namespace weft {

void GateTransport::Abandon(Rank peer, Lane lane) {
  inner_->Abandon(peer, lane);
  std::erase_if(held_, [&](const Held& held) {
    const bool dropped = held.peer == peer && (lane == Lane::kSmall || held.op.lane == lane);
    if (dropped && held.op.token != 0) {
      dropped_.push_back(
          {.token = held.op.token, .peer = peer, .result = Event::Result::kPeerDown});
    }
    return dropped;
  });
}

size_t GateTransport::Post(Rank peer, std::span<const Op> ops) {
  if (peer == gate_.full_peer) return 0;
  if (!gate_.shut && held_.empty()) return inner_->Post(peer, ops);
  for (const Op& op : ops) held_.push_back({peer, op});
  return ops.size();
}

size_t GateTransport::Poll(std::span<Event> events) {
  while (!gate_.shut && !held_.empty()) {
    const Held& first = held_.front();
    if (inner_->Post(first.peer, {&first.op, 1}) == 0) break;
    held_.pop_front();
  }
  size_t count = 0;
  for (; count < events.size() && !dropped_.empty(); dropped_.pop_front()) {
    events[count++] = dropped_.front();
  }
  return count + inner_->Poll(events.subspan(count));
}

Armed GateTransport::Arm() {
  Armed armed = inner_->Arm();
  armed.ready |= !dropped_.empty() || (!gate_.shut && !held_.empty());
  // Nobody rings when the gate opens.
  armed.at = std::min(armed.at, Deadline::After(absl::Milliseconds(1)));
  return armed;
}

}  // namespace weft
