// What arrives from the peers, and what is due to them for it.
#include <atomic>
#include <utility>

#include "runtime/base/doorbell.h"
#include "runtime/transport/verbs/verbs_transport.h"

namespace weft {

void VerbsTransport::TakeArrivals() {
  constexpr size_t kBatch = 32;
  Arrivals::Arrival arrivals[kBatch];
  size_t count;
  do {
    count = arrivals_->Take(arrivals);
    for (const Arrivals::Arrival& arrival : std::span(arrivals, count)) {
      OnArrival(*peers_[arrival.from.rank], arrival);
    }
  } while (count == kBatch);
}

void VerbsTransport::OnArrival(VerbsPeer& peer, const Arrivals::Arrival& arrival) {
  const Immediate& immediate = arrival.immediate;
  ControlRegion& control = node_.control(node_.rank);
  switch (immediate.kind) {
    case Immediate::Kind::kCount:
      if (immediate.value < kMaxCounters) {
        control.counters[immediate.value].arrivals.fetch_add(1, std::memory_order_seq_cst);
      }
      Ring(control.doorbell);
      break;
    case Immediate::Kind::kWake:
      std::atomic_thread_fence(std::memory_order_seq_cst);
      Ring(control.doorbell);
      break;
    // These take no credit.
    case Immediate::Kind::kAskBulk:
      return OnAskBulk(peer, immediate.value);
    case Immediate::Kind::kAnswerBulk:
      if (std::exchange(peer.awaits_answer, false)) OpenBulk(peer, immediate.value);
      return;
  }
  if (arrival.from.former) return;  // The credits of a lane start anew with it.
  ++peer.lane(arrival.from.lane).credits.taken;
  SendDue(peer);
}

void VerbsTransport::TakeArrivalsAndAnswer() {
  TakeArrivals();
  if (std::exchange(any_due_, false)) {
    for (const auto& peer : peers_) SendDue(*peer);
  }
  MendBroken();
}

void VerbsTransport::SendDue(VerbsPeer& peer) {
  if (peer.state != VerbsPeer::State::kConnected) return;
  for (Lane lane : kLanes) {
    VerbsPeer::Credits& credits = peer.lane(lane).credits;
    const uint64_t word = peer.credit_address + static_cast<size_t>(lane) * sizeof(uint64_t);
    if (credits.due() && SendAlone(peer, [&](WorkChain& chain) {
          chain.AddWord(word, peer.credit_key, credits.taken);
        })) {
      credits.returned = credits.taken;
    }
    any_due_ |= credits.due();
  }
  if (peer.due == VerbsPeer::Due::kNothing) return;
  const Immediate immediate = {
      peer.due == VerbsPeer::Due::kAsk ? Immediate::Kind::kAskBulk : Immediate::Kind::kAnswerBulk,
      peer.lane(Lane::kBulk).queue.pair().number()};
  if (SendAlone(peer, [&](WorkChain& chain) { chain.AddImmediate(immediate); })) {
    peer.due = VerbsPeer::Due::kNothing;
  } else {
    any_due_ = true;
  }
}

}  // namespace weft
