// How lanes end, and how the bulk lane starts anew.
#include <atomic>
#include <utility>

#include "runtime/transport/verbs/verbs_transport.h"

namespace weft {
namespace {

// Of a queue pair that replaces `end`: both sides can tell it.
uint32_t FirstPacket(const PairEnd& end, uint32_t number) {
  return (end.first_packet + number * 0x3779b9) & 0xffffff;
}

}  // namespace

void VerbsTransport::MendBroken() {
  while (std::exchange(any_broken_, false)) {
    for (const auto& peer : peers_) {
      const Loss small = std::exchange(peer->lane(Lane::kSmall).broken, Loss::kNone);
      const Loss bulk = std::exchange(peer->lane(Lane::kBulk).broken, Loss::kNone);
      if (peer->state != VerbsPeer::State::kConnected) continue;
      if (small != Loss::kNone) {
        LosePeer(*peer, small);
      } else if (bulk == Loss::kSilence) {
        // A new pair would run into the same silence, each of its operations anew.
        LosePeer(*peer, Loss::kBulkSilence);
      } else if (bulk == Loss::kDenied) {
        LosePeer(*peer, bulk);  // Its memory is gone, to the small lane, too.
      } else if (bulk != Loss::kNone) {
        BreakBulk(*peer);
      }
    }
  }
}

void VerbsTransport::EndLane(VerbsPeer& peer, Lane lane) {
  SendQueue& queue = peer.lane(lane).queue;
  // What has ended well is not in doubt.
  while (ReapSent()) {
  }
  under_way_ -= queue.under_way();
  arrivals_->Retire(queue.pair().number());
  queue.Destroy();
  while (const SendQueue::Mark* mark = queue.Ended()) {
    EndMark(peer, *mark, Event::Result::kPeerDown);
  }
  peer.requests.EndLane(
      lane, [&](uint64_t token, Event::Result result) { EndRequest(peer, token, result); });
  peer.lane(lane).broken = Loss::kNone;
}

void VerbsTransport::CloseLane(VerbsPeer& peer, Lane lane) {
  VerbsPeer::LaneEnd& end = peer.lane(lane);
  end.open = false;
  if (end.queue.pair().get() != nullptr) EndLane(peer, lane);
  // The peer gives up what it asked for there.
  peer.replies.Drop(lane);
  end.credits.taken = end.credits.returned = 0;
}

void VerbsTransport::LosePeer(VerbsPeer& peer, Loss loss) {
  if (std::exchange(peer.state, VerbsPeer::State::kGone) == VerbsPeer::State::kGone) return;
  peer.loss = loss;
  for (Lane lane : kLanes) {
    CloseLane(peer, lane);
    if (connector_ != nullptr) connector_->Close(peer.rank, lane);
  }
  Tell({.peer = peer.rank, .kind = Event::Kind::kPeerDown});
}

void VerbsTransport::BreakBulk(VerbsPeer& peer) {
  if (connector_ != nullptr) {
    if (!peer.lane(Lane::kBulk).open) return;  // It is on its way.
    CloseLane(peer, Lane::kBulk);
    connector_->Close(peer.rank, Lane::kBulk);
    if (peer.reached) connector_->Open(peer.rank, Lane::kBulk);
    return;
  }
  if (peer.awaits_answer) return;  // It takes nothing, and is new.
  // A pair that the peer was not told of yet is replaced without a word.
  const bool untold = peer.due == VerbsPeer::Due::kAnswer;
  if (!RenewBulk(peer)) return;
  if (untold) return OpenBulk(peer, peer.far_number);
  peer.awaits_answer = true;
  peer.due = VerbsPeer::Due::kAsk;
  SendDue(peer);
}

bool VerbsTransport::RenewBulk(VerbsPeer& peer) {
  CloseLane(peer, Lane::kBulk);
  absl::StatusOr<QueuePair> pair = MakePair(peer.rank, Lane::kBulk);
  if (!pair.ok()) {
    LosePeer(peer, Loss::kRenewal);
    return false;
  }
  peer.lane(Lane::kBulk).queue.Renew(*std::move(pair));
  return true;
}

void VerbsTransport::OnAskBulk(VerbsPeer& peer, uint32_t number) {
  if (peer.state != VerbsPeer::State::kConnected) return;
  // Both have asked: each takes the other's question for the answer.
  if (!std::exchange(peer.awaits_answer, false)) {
    if (!RenewBulk(peer)) return;
    peer.due = VerbsPeer::Due::kAnswer;
  }
  OpenBulk(peer, number);
}

void VerbsTransport::OpenBulk(VerbsPeer& peer, uint32_t number) {
  peer.far_number = number;
  // It replied before it told of its new pair, or never will.
  peer.requests.Forget(Lane::kBulk);
  // The peer counts from 0 again; what it wrote before came before its message.
  peer.lane(Lane::kBulk).credits.sent = 0;
  CreditWord(peer.rank, Lane::kBulk).store(0, std::memory_order_release);
  QueuePair& pair = peer.lane(Lane::kBulk).queue.pair();
  const absl::Status connected =
      pair.Connect(peer.port, {number, FirstPacket(peer.ends.bulk, number)},
                   FirstPacket(peer.ours.bulk, pair.number()));
  if (!connected.ok()) return LosePeer(peer, Loss::kRenewal);
  peer.lane(Lane::kBulk).open = true;
  SendDue(peer);
}

}  // namespace weft
