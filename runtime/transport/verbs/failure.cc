// How failures that come without a completion are heeded, and all of them told.
#include <algorithm>
#include <atomic>

#include "runtime/base/doorbell.h"
#include "runtime/transport/verbs/async_events.h"
#include "runtime/transport/verbs/verbs_transport.h"

namespace weft {

void VerbsTransport::Break(VerbsPeer& peer, Lane lane, Loss loss) {
  Loss& broken = peer.lane(lane).broken;
  if (broken == Loss::kNone) broken = loss;  // What follows is its consequence.
  any_broken_ = true;
}

void VerbsTransport::TakeAsyncEvents() {
  while (!device_lost_) {
    const std::optional<AsyncEvent> event = TakeAsyncEvent(*device_);
    if (!event.has_value()) return;
    switch (event->object) {
      case AsyncEvent::Object::kDevice:
        device_lost_ = true;
        LoseAll(Loss::kDevice);
        break;
      case AsyncEvent::Object::kQueues:
        LoseAll(Loss::kQueues);
        break;
      case AsyncEvent::Object::kPair:
        if (const auto source = arrivals_->SourceOf(event->pair_number)) {
          Break(*peers_[source->rank], source->lane, Loss::kPair);
        }
        break;
      case AsyncEvent::Object::kNone:
        break;
    }
  }
}

void VerbsTransport::LoseAll(Loss loss) {
  for (const auto& peer : peers_) LosePeer(*peer, loss);
}

void VerbsTransport::WakePollers() {
  if (ready_first_ == ready_.size()) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Ring(node_.control(node_.rank).doorbell);
}

std::string VerbsTransport::WhyLost(Rank rank) {
  if (rank >= node_.size) return "";
  const VerbsPeer& peer = *peers_[rank];
  if (peer.loss == Loss::kNoConnection) return peer.why_lost;
  return DescribeLoss({.loss = peer.loss,
                       .mtu = std::min(device_->port().mtu, peer.port.mtu),
                       .small_passed = peer.lane(Lane::kSmall).passed,
                       .large_passed = peer.lane(Lane::kBulk).passed},
                      *device_);
}

}  // namespace weft
