// What becomes of connections that librdmacm makes (cm_connector.h).
#include <atomic>
#include <string>
#include <utility>

#include "runtime/transport/verbs/verbs_transport.h"

namespace weft {
namespace {

constexpr absl::Duration kWhileTheBreakerOpens = absl::Milliseconds(500);

}  // namespace

absl::StatusOr<QueuePair> VerbsTransport::MakePair(Rank peer, Lane lane) {
  absl::StatusOr<QueuePair> pair = MakePair();
  if (pair.ok()) arrivals_->Expect(pair->number(), {.rank = peer, .lane = lane});
  return pair;
}

void VerbsTransport::DropPair(QueuePair pair) { arrivals_->Retire(pair.number()); }

bool VerbsTransport::OnRequest(const CmMessage& request) {
  VerbsPeer& peer = *peers_[request.from];
  if (peer.state == VerbsPeer::State::kGone) return false;
  TakeArrivals();  // Some devices forget what came by a queue pair that is destroyed.
  VerbsPeer::LaneEnd& end = peer.lane(request.lane);
  if (request.lane == Lane::kSmall && end.open) {
    // Its end of that lane is gone, and with it what was under way: a peer does not come back.
    LosePeer(peer, Loss::kClosed);
    return false;
  }
  CloseLane(peer, request.lane);
  peer.credits = {request.credit_address, request.credit_key};
  return true;
}

void VerbsTransport::OnOpen(Rank rank, Lane lane, QueuePair pair, uint32_t number) {
  VerbsPeer& peer = *peers_[rank];
  VerbsPeer::LaneEnd& end = peer.lane(lane);
  end.queue.Renew(std::move(pair));
  // What is late is known by its number.
  peer.requests.Forget(lane);
  end.credits.sent = 0;
  end.life = number;
  end.open = true;
  if (!peer.lane(Lane::kSmall).open) return;
  if (peer.state == VerbsPeer::State::kNew) {
    if (!peer.lane(Lane::kBulk).open) return;
    peer.state = VerbsPeer::State::kConnected;
    for (; peer.untold > 0; --peer.untold) Tell({.peer = rank, .kind = Event::Kind::kConnected});
  }
  SendDue(peer);
}

void VerbsTransport::OnClosed(Rank rank, Lane lane) {
  VerbsPeer& peer = *peers_[rank];
  if (peer.state == VerbsPeer::State::kGone) return;
  TakeArrivals();  // As above.
  if (lane == Lane::kSmall) {
    LosePeer(peer, Loss::kClosed);
  } else {
    CloseLane(peer, lane);
    // Whoever broke it opens it again; should that come to nothing, we do.
    if (peer.reached) connector_->Open(rank, lane, kWhileTheBreakerOpens);
  }
}

void VerbsTransport::OnFailed(Rank rank, Lane, const absl::Status& why) {
  VerbsPeer& peer = *peers_[rank];
  peer.why_lost = std::string(why.message());
  LosePeer(peer, Loss::kNoConnection);
}

}  // namespace weft
