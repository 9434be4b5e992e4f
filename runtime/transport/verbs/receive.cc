// What arrives from the peers, and what is due to them for it.
#include <atomic>
#include <utility>

#include "runtime/base/doorbell.h"
#include "runtime/transport/verbs/agent.h"
#include "runtime/transport/verbs/verbs_transport.h"

namespace weft {

void VerbsTransport::TakeIn() {
  do {
    const std::span<const Arrivals::Arrival> arrivals = arrivals_->Take();
    for (const Arrivals::Arrival& arrival : arrivals) {
      OnArrival(*peers_[arrival.from.rank], arrival);
    }
    for (const Arrivals::Arrival& arrival : arrivals) {
      VerbsPeer& peer = *peers_[arrival.from.rank];
      if (peer.any_due()) SendDue(peer);
    }
  } while (arrivals_->may_be_more() && arrivals_->Look());
}

void VerbsTransport::OnArrival(VerbsPeer& peer, const Arrivals::Arrival& arrival) {
  if (peer.state == VerbsPeer::State::kGone) return;
  const Message& message = arrival.message;
  ControlRegion& control = node_.control(node_.rank);
  switch (message.kind) {
    case Message::Kind::kCount:
      if (message.number < kMaxCounters) {
        control.counters[message.number].arrivals.fetch_add(1, std::memory_order_seq_cst);
      }
      Ring(control.doorbell);
      break;
    case Message::Kind::kWake:
      std::atomic_thread_fence(std::memory_order_seq_cst);
      Ring(control.doorbell);
      break;
    case Message::Kind::kAtomic:
      // That of a former lane is in doubt already, and its sender expects no reply; more than
      // there can be are none of Weft's.
      if (arrival.from.former || peer.replies.full()) return;
      peer.replies.replies[peer.replies.count++] = {CarryOut(message, node_), arrival.from.lane};
      if (message.wakes) Ring(control.doorbell);
      break;
    // These take no credit.
    case Message::Kind::kReply:
      return peer.requests.OnReply(
          message.number, message.result, message.operand,
          [&](uint64_t token, Event::Result result) { EndRequest(peer, token, result); });
    // Lanes that librdmacm connects start anew through it.
    case Message::Kind::kAskBulk:
      if (connector_ == nullptr) OnAskBulk(peer, message.number);
      return;
    case Message::Kind::kAnswerBulk:
      if (std::exchange(peer.awaits_answer, false)) OpenBulk(peer, message.number);
      return;
  }
  // The credits of a lane start anew with it.
  if (!arrival.from.former) ++peer.lane(arrival.from.lane).credits.taken;
}

void VerbsTransport::AnswerAll() {
  any_due_ = false;
  for (const auto& peer : peers_) SendDue(*peer);
}

bool VerbsTransport::SendReplies(VerbsPeer& peer) {
  VerbsPeer::Replies& replies = peer.replies;
  const bool sent = replies.count == 0 || SendOurs(peer, replies.count, [&](WorkChain& chain) {
                      for (const VerbsPeer::Replies::Reply& reply : replies.all()) {
                        chain.AddMessage(reply.message);
                      }
                    });
  if (sent) replies.count = 0;
  return sent;
}

void VerbsTransport::SendDue(VerbsPeer& peer) {
  if (peer.state != VerbsPeer::State::kConnected) return;
  for (Lane lane : kLanes) {
    if (!peer.lane(lane).open) continue;  // Once it is, what came meanwhile is due.
    VerbsPeer::Credits& credits = peer.lane(lane).credits;
    const uint64_t told =
        uint64_t{peer.lane(lane).life} << 32 | static_cast<uint32_t>(credits.taken);
    const WorkChain::Remote word = {peer.credits.at + static_cast<size_t>(lane) * sizeof(uint64_t),
                                    peer.credits.key};
    if (credits.due() && SendOurs(peer, 1, [&](WorkChain& chain) { chain.AddWord(word, told); })) {
      credits.returned = credits.taken;
    }
    any_due_ |= credits.due();
  }
  // Replies go ahead of what tells that a lane starts anew: the peer forgets its requests then.
  if (!SendReplies(peer)) {
    any_due_ = true;
    return;
  }
  if (peer.due == VerbsPeer::Due::kNothing) return;
  const Message message = {.kind = peer.due == VerbsPeer::Due::kAsk ? Message::Kind::kAskBulk
                                                                    : Message::Kind::kAnswerBulk,
                           .number = peer.lane(Lane::kBulk).queue.pair().number()};
  if (SendOurs(peer, 1, [&](WorkChain& chain) { chain.AddMessage(message); })) {
    peer.due = VerbsPeer::Due::kNothing;
  } else {
    any_due_ = true;
  }
}

}  // namespace weft
