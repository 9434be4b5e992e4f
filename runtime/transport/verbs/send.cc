// How operations are handed to the device, and how its completions come back.
#include <atomic>

#include "runtime/transport/address.h"
#include "runtime/transport/verbs/verbs_transport.h"

namespace weft {
namespace {

Event::Result ResultOf(const ibv_wc& completion) {
  switch (completion.status) {
    case IBV_WC_SUCCESS:
      return Event::Result::kOk;
    // Everything else has ended the queue pair. These are faults of ours:
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
      return Event::Result::kInternal;
    default:  // Addresses were checked: access is denied by a peer whose memory is gone.
      return Event::Result::kPeerDown;
  }
}

}  // namespace

size_t VerbsTransport::Post(Rank rank, std::span<const Op> ops) {
  const std::lock_guard lock(mutex_);
  if (rank >= node_.size || ops.empty()) return 0;
  VerbsPeer& peer = *peers_[rank];
  const Lane lane = ops[0].lane;
  SendQueue& queue = peer.lane(lane).queue;
  WorkChain chain = MakeChain(peer, lane);
  size_t taken = 0;
  for (const Op& op : ops) {
    if (op.lane != lane || chain.full() || (op.token != 0 && tokens_ == kMaxTokens)) break;
    const Event::Result result = Check(peer, op);
    if (result == Event::Result::kOk) {
      if (!MayTake(peer, queue, chain.size(), op)) break;
      const size_t before = chain.size();
      chain.Add(op);
      for (size_t i = before + 1; i < chain.size(); ++i) queue.Push(0);
      queue.Push(op.token);
      if (op.ride != Ride::kNone) ++peer.lane(lane).credits.sent;
    } else {
      End(rank, op.token, result);
    }
    if (op.token != 0) ++tokens_;
    ++taken;
  }
  if (chain.size() > 0) PostChain(peer, lane, chain);
  refused_ |= taken < ops.size();
  return taken;
}

Event::Result VerbsTransport::Check(const VerbsPeer& peer, const Op& op) {
  if (peer.state != VerbsPeer::State::kConnected) return Event::Result::kPeerDown;
  if (op.region == nullptr || op.length > UINT32_MAX || !GoodAddress(op)) {
    return Event::Result::kBadAddress;
  }
  return CarriesOut(kAtomics, op.kind, op.length) ? Event::Result::kOk : Event::Result::kInternal;
}

std::atomic<uint64_t>& VerbsTransport::CreditWord(Rank peer, Lane lane) const {
  auto* const words = reinterpret_cast<std::atomic<uint64_t>*>(words_.get());
  return words[peer * 2 + static_cast<size_t>(lane)];
}

bool VerbsTransport::MayTake(const VerbsPeer& peer, const SendQueue& queue, size_t chained,
                             const Op& op) const {
  const size_t requests = WorkChain::RequestsOf(op);
  if (queue.room() < requests || max_under_way_ - under_way_ < chained + requests) return false;
  if (op.lane == Lane::kBulk && !peer.bulk_open) return false;
  if (op.ride == Ride::kNone) return true;
  return peer.lane(op.lane).credits.sent -
             CreditWord(peer.rank, op.lane).load(std::memory_order_acquire) <
         Arrivals::kCredits;
}

WorkChain VerbsTransport::MakeChain(VerbsPeer& peer, Lane lane) const {
  return WorkChain(peer.rank << 1 | static_cast<uint32_t>(lane), peer.lane(lane).queue.next(),
                   caps_.max_inline,
                   {.at = words_.get() + CreditBytes(), .key = (*words_region_)->lkey});
}

bool VerbsTransport::SendAlone(VerbsPeer& peer, absl::FunctionRef<void(WorkChain&)> add) {
  SendQueue& queue = peer.lane(Lane::kSmall).queue;
  if (queue.room() == 0 || under_way_ == max_under_way_) return false;
  WorkChain chain = MakeChain(peer, Lane::kSmall);
  add(chain);
  queue.Push(0);
  return PostChain(peer, Lane::kSmall, chain);
}

bool VerbsTransport::PostChain(VerbsPeer& peer, Lane lane, WorkChain& chain) {
  SendQueue& queue = peer.lane(lane).queue;
  ibv_send_wr* refused = nullptr;
  under_way_ += static_cast<uint32_t>(chain.size());
  ibv_send_wr* const first = chain.Close();
  if (device_->library().post_send(queue.pair().get(), first, &refused) == 0) return true;
  // There was room, so the queue pair or the device is broken. What was refused has no
  // completion.
  uint32_t count = 0;
  for (const ibv_send_wr* request = refused; request != nullptr; request = request->next) ++count;
  for (uint32_t i = count; i > 0; --i) {
    End(peer.rank, queue.token(queue.next() - i), Event::Result::kPeerDown);
  }
  queue.Unpush(count);
  under_way_ -= count;
  Break(peer, lane, Loss::kRefused);
  return false;
}

void VerbsTransport::End(Rank peer, uint64_t token, Event::Result result) {
  if (token != 0) Tell({.token = token, .peer = peer, .result = result});
}

void VerbsTransport::ReapSent() {
  constexpr int kBatch = 32;
  ibv_wc completions[kBatch];
  int n;
  do {
    n = device_->library().poll_cq(sent_.get(), kBatch, completions);
    for (int i = 0; i < n; ++i) OnSent(completions[i]);
  } while (n == kBatch);
}

void VerbsTransport::OnSent(const ibv_wc& completion) {
  const auto owner = static_cast<uint32_t>(completion.wr_id >> 32);
  VerbsPeer& peer = *peers_[owner >> 1];
  const Lane lane = static_cast<Lane>(owner & 1);
  SendQueue& queue = peer.lane(lane).queue;
  const uint32_t before = queue.under_way();
  const bool live =
      queue.Complete(static_cast<uint32_t>(completion.wr_id), ResultOf(completion),
                     [&](uint64_t token, Event::Result result) { End(peer.rank, token, result); });
  under_way_ -= before - queue.under_way();
  if (!live) return;
  if (completion.status == IBV_WC_SUCCESS) {
    peer.lane(lane).passed = true;
  } else {
    Break(peer, lane, LossOf(completion.status));
  }
}

}  // namespace weft
