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
  VerbsPeer::LaneEnd& end = peer.lane(lane);
  WorkChain chain(ChainSetup(peer, lane));
  size_t taken = 0;
  for (const Op& op : ops) {
    if (op.lane != lane || chain.full() || (op.token != 0 && tokens_ == kMaxTokens)) break;
    const Event::Result result = Check(peer, op);
    if (result == Event::Result::kOk) {
      if (!MayTake(peer, chain.size(), op)) break;
      const size_t before = chain.size();
      SendQueue::Mark mark = {.token = op.token};
      if (IsRequest(op)) {
        const bool returns = IsAtomic(op.kind) && op.kind != Op::Kind::kSet;
        mark = {.request =
                    peer.requests.Begin(lane, op.token, returns ? op.local : nullptr, op.length)};
        ++unanswered_;
      }
      chain.Add(op, mark.request);
      for (size_t i = before + 1; i < chain.size(); ++i) end.queue.Push({});
      end.queue.Push(mark);
      if (op.ride != Ride::kNone || mark.request != 0) ++end.credits.sent;
      end.fence.reset();
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

Event::Result VerbsTransport::Check(const VerbsPeer& peer, const Op& op) const {
  if (peer.state != VerbsPeer::State::kConnected) return Event::Result::kPeerDown;
  if (op.region == nullptr || op.length > UINT32_MAX || !GoodAddress(op)) {
    return Event::Result::kBadAddress;
  }
  return CarriesOut(caps_.atomics, op.kind, op.length) ? Event::Result::kOk
                                                       : Event::Result::kInternal;
}

bool VerbsTransport::IsRequest(const Op& op) const {
  return dialect_.messages &&
         (IsAtomic(op.kind) || op.ride == Ride::kSetSignal || op.ride == Ride::kAddSignal);
}

std::atomic<uint64_t>& VerbsTransport::CreditWord(Rank peer, Lane lane) const {
  auto* const words = reinterpret_cast<std::atomic<uint64_t>*>(words_.get());
  return words[peer * 2 + static_cast<size_t>(lane)];
}

bool VerbsTransport::HasRoom(const SendQueue& queue, size_t chained, size_t requests) const {
  // What is chained is in the queue, but not yet under way. And one that proves.
  requests += dialect_.proves;
  return queue.room() >= requests && max_under_way_ - under_way_ >= chained + requests;
}

bool VerbsTransport::MayTake(VerbsPeer& peer, size_t chained, const Op& op) {
  VerbsPeer::LaneEnd& lane = peer.lane(op.lane);
  if (!HasRoom(lane.queue, chained, WorkChain::RequestsOf(op, dialect_))) return false;
  if (!lane.open) return false;
  if (op.fenced && !MayStartBehind(peer, lane)) return false;
  if (IsRequest(op)) {
    if (peer.requests.full()) return false;
  } else if (op.ride == Ride::kNone) {
    return true;
  }
  // No more than it has receives for, whatever the word says: it may be torn. Of an earlier
  // connection of the lane it says nothing.
  const uint64_t word = CreditWord(peer.rank, op.lane).load(std::memory_order_acquire);
  const uint32_t taken = word >> 32 == lane.life ? static_cast<uint32_t>(word) : 0;
  return static_cast<uint32_t>(lane.credits.sent) - taken < Arrivals::kCredits;
}

bool VerbsTransport::MayStartBehind(const VerbsPeer& peer, VerbsPeer::LaneEnd& lane) const {
  // Those to the agent have not started there before they are answered.
  if (peer.requests.under_way() > 0) return false;
  if (!dialect_.waits_to_fence) return true;
  // Not what the transport itself has sent since: that may go on for ever.
  if (!lane.fence) lane.fence = lane.queue.next();
  return lane.queue.Passed(*lane.fence);
}

WorkChain::Setup VerbsTransport::ChainSetup(VerbsPeer& peer, Lane lane) const {
  return {.owner = peer.rank << 1 | static_cast<uint32_t>(lane),
          .first = peer.lane(lane).queue.next(),
          .max_inline = caps_.max_inline,
          .scratch = {.at = words_.get() + CreditBytes(), .key = (*words_region_)->lkey},
          .proof = peer.credits,
          .dialect = dialect_};
}

bool VerbsTransport::SendOurs(VerbsPeer& peer, size_t requests,
                              absl::FunctionRef<void(WorkChain&)> add) {
  SendQueue& queue = peer.lane(Lane::kSmall).queue;
  if (!HasRoom(queue, 0, requests)) return false;
  WorkChain chain(ChainSetup(peer, Lane::kSmall));
  add(chain);
  for (size_t i = 0; i < requests; ++i) queue.Push({});
  return PostChain(peer, Lane::kSmall, chain);
}

bool VerbsTransport::PostChain(VerbsPeer& peer, Lane lane, WorkChain& chain) {
  SendQueue& queue = peer.lane(lane).queue;
  if (chain.Prove()) queue.Push({});
  ibv_send_wr* refused = nullptr;
  under_way_ += static_cast<uint32_t>(chain.size());
  ibv_send_wr* const first = chain.Close();
  if (device_->library().post_send(queue.pair().get(), first, &refused) == 0) return true;
  // There was room, so the queue pair or the device is broken. What was refused has no
  // completion.
  uint32_t count = 0;
  for (const ibv_send_wr* request = refused; request != nullptr; request = request->next) ++count;
  for (uint32_t i = count; i > 0; --i) {
    EndMark(peer, queue.mark(queue.next() - i), Event::Result::kPeerDown);
  }
  queue.Unpush(count);
  under_way_ -= count;
  Break(peer, lane, Loss::kRefused);
  return false;
}

void VerbsTransport::EndMark(VerbsPeer& peer, const SendQueue::Mark& mark, Event::Result result) {
  if (mark.request == 0) return End(peer.rank, mark.token, result);
  peer.requests.OnSent(mark.request, result,
                       [&](uint64_t token, Event::Result end) { EndRequest(peer, token, end); });
}

void VerbsTransport::EndRequest(VerbsPeer& peer, uint64_t token, Event::Result result) {
  --unanswered_;
  End(peer.rank, token, result);
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
  const bool live = queue.Complete(
      static_cast<uint32_t>(completion.wr_id), ResultOf(completion),
      [&](const SendQueue::Mark& mark, Event::Result result) { EndMark(peer, mark, result); });
  under_way_ -= before - queue.under_way();
  if (!live) return;
  if (completion.status == IBV_WC_SUCCESS) {
    peer.lane(lane).passed = true;
  } else {
    Break(peer, lane, LossOf(completion.status));
  }
}

}  // namespace weft
