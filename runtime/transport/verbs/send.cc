// How operations are handed to the device, and how its completions come back.
#include <algorithm>
#include <atomic>

#include "runtime/transport/verbs/verbs_transport.h"

namespace weft {
namespace {

Event::Result ResultOf(const ibv_wc& completion) {
  switch (completion.status) {
    // Everything else has ended the queue pair. These are faults of ours:
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
      return Event::Result::kInternal;
    default:  // Addresses were checked: access is denied by a peer whose memory is gone.
      return Event::Result::kPeerDown;
  }
}

// Of the next request on the lane, by which its completion tells of it: VerbsTransport::OnSent.
uint64_t RequestId(Rank peer, Lane lane, const SendQueue& queue) {
  return uint64_t{peer << 1 | static_cast<uint32_t>(lane)} << 32 | queue.next();
}

}  // namespace

inline Event::Result VerbsTransport::Check(const VerbsPeer& peer, const Op& op) const {
  if (peer.state != VerbsPeer::State::kConnected) return Event::Result::kPeerDown;
  if (op.region == nullptr || op.length > UINT32_MAX || !GoodAddress(op)) {
    return Event::Result::kBadAddress;
  }
  return CarriesOut(caps_.atomics, op.kind, op.length) ? Event::Result::kOk
                                                       : Event::Result::kInternal;
}

inline bool VerbsTransport::HasRoomForPlain(const VerbsPeer::LaneEnd& end, uint32_t chained) const {
  return end.open && !dialect_.proves && end.queue.room() > 0 &&
         under_way_ + chained < max_under_way_ && tokens_ < kMaxTokens;
}

[[gnu::always_inline]] inline bool VerbsTransport::IsPlain(const VerbsPeer& peer, Lane lane,
                                                           const Op& op) const {
  return op.ride == Ride::kNone && op.lane == lane && !op.fenced &&
         Check(peer, op) == Event::Result::kOk && !(IsAtomic(op.kind) && dialect_.messages);
}

bool VerbsTransport::IsPlainCount(const VerbsPeer& peer, const Op& op) const {
  return op.ride == Ride::kCounter && !op.fenced && !dialect_.messages &&
         Check(peer, op) == Event::Result::kOk && HasCredit(peer, op.lane);
}

[[gnu::always_inline]] inline void VerbsTransport::PostPlain(VerbsPeer& peer, Lane lane,
                                                             const Op& op, bool counts) {
  VerbsPeer::LaneEnd& end = peer.lane(lane);
  ibv_send_wr request;
  ibv_sge piece;
  ibv_send_wr* refused = nullptr;
  WorkChain::MakePlain(setup_, op, RequestId(peer.rank, lane, end.queue), request, piece);
  request.next = nullptr;
  request.send_flags |= IBV_SEND_SIGNALED;
  if (counts) {
    WorkChain::Tell(WorkChain::CountOf(op), request);
    ++end.credits.sent;
  }
  end.queue.PushMarked(op.token, 0);
  end.fence.reset();
  tokens_ += op.token != 0;
  ++under_way_;
  if (device_->library().post_send(end.queue.pair().get(), &request, &refused) != 0) {
    OnRefused(peer, lane, refused);
  }
}

[[gnu::noinline]] void VerbsTransport::PostCount(VerbsPeer& peer, Lane lane, const Op& op) {
  PostPlain(peer, lane, op, /*counts=*/true);
}

size_t VerbsTransport::Post(Rank rank, std::span<const Op> ops) {
  if (rank >= node_.size || ops.empty()) return 0;
  VerbsPeer& peer = *peers_[rank];
  const Lane lane = ops[0].lane;
  if (ops.size() == 1 && HasRoomForPlain(peer.lane(lane), 0)) [[likely]] {
    if (IsPlain(peer, lane, ops[0])) [[likely]] {
      PostPlain(peer, lane, ops[0], /*counts=*/false);
      return 1;
    }
    if (IsPlainCount(peer, ops[0])) {
      PostCount(peer, lane, ops[0]);
      return 1;
    }
  }
  return PostMany(peer, lane, ops);
}

size_t VerbsTransport::PostMany(VerbsPeer& peer, Lane lane, std::span<const Op> ops) {
  VerbsPeer::LaneEnd& end = peer.lane(lane);
  WorkChain chain(setup_, RequestId(peer.rank, lane, end.queue), peer.credits);
  size_t taken = 0;
  for (; taken < ops.size() && !chain.full() && HasRoomForPlain(end, chain.size()) &&
         IsPlain(peer, lane, ops[taken]);
       ++taken) {
    chain.AddPlain(ops[taken]);
    if (const uint64_t token = ops[taken].token; token == 0) {
      end.queue.Push(1);
    } else {
      end.queue.PushMarked(token, 0);
      ++tokens_;
    }
  }
  if (taken > 0) end.fence.reset();
  if (taken < ops.size()) taken += AddAny(peer, lane, ops.subspan(taken), chain);
  if (chain.size() > 0) PostChain(peer, lane, chain);
  refused_ |= taken < ops.size();
  return taken;
}

size_t VerbsTransport::AddAny(VerbsPeer& peer, Lane lane, std::span<const Op> ops,
                              WorkChain& chain) {
  VerbsPeer::LaneEnd& end = peer.lane(lane);
  size_t taken = 0;
  for (const Op& op : ops) {
    if (op.lane != lane || chain.full() || (op.token != 0 && tokens_ == kMaxTokens)) break;
    const Event::Result result = Check(peer, op);
    if (result == Event::Result::kOk) {
      const uint32_t requests = WorkChain::RequestsOf(op, dialect_);
      if (!end.open || !HasRoom(end.queue, chain.size(), requests) || !MayStart(peer, op)) break;
      uint32_t request = 0;
      if (IsRequest(op)) {
        const bool returns = IsAtomic(op.kind) && op.kind != Op::Kind::kSet;
        request = peer.requests.Begin(lane, op.token, returns ? op.local : nullptr, op.length);
        ++unanswered_;
      }
      chain.Add(op, request);
      end.queue.Push(requests - 1);
      // The reply to a request tells of its token.
      end.queue.PushMarked(request == 0 ? op.token : 0, request);
      if (op.ride != Ride::kNone || request != 0) ++end.credits.sent;
      end.fence.reset();
    } else {
      End(peer.rank, op.token, result);
    }
    if (op.token != 0) ++tokens_;
    ++taken;
  }
  return taken;
}

std::atomic<uint64_t>& VerbsTransport::CreditWord(Rank peer, Lane lane) const {
  auto* const words = reinterpret_cast<std::atomic<uint64_t>*>(words_.get());
  return words[peer * 2 + static_cast<size_t>(lane)];
}

bool VerbsTransport::IsRequest(const Op& op) const {
  return dialect_.messages &&
         (IsAtomic(op.kind) || op.ride == Ride::kSetSignal || op.ride == Ride::kAddSignal);
}

bool VerbsTransport::HasRoom(const SendQueue& queue, size_t chained, size_t requests) const {
  // What is chained is in the queue, but not yet under way. And one that proves.
  requests += dialect_.proves;
  return queue.room() >= requests && max_under_way_ - under_way_ >= chained + requests;
}

bool VerbsTransport::MayStart(VerbsPeer& peer, const Op& op) {
  VerbsPeer::LaneEnd& lane = peer.lane(op.lane);
  if (op.fenced && !MayStartBehind(peer, lane)) return false;
  if (IsRequest(op)) {
    if (peer.requests.full()) return false;
  } else if (op.ride == Ride::kNone) {
    return true;
  }
  return HasCredit(peer, op.lane);
}

bool VerbsTransport::HasCredit(const VerbsPeer& peer, Lane lane) const {
  // No more than it has receives for, whatever the word says: it may be torn. Of an earlier
  // connection of the lane it says nothing.
  const VerbsPeer::LaneEnd& end = peer.lane(lane);
  const uint64_t word = CreditWord(peer.rank, lane).load(std::memory_order_acquire);
  const uint32_t taken = word >> 32 == end.life ? static_cast<uint32_t>(word) : 0;
  return static_cast<uint32_t>(end.credits.sent) - taken < Arrivals::kCredits;
}

bool VerbsTransport::MayStartBehind(const VerbsPeer& peer, VerbsPeer::LaneEnd& lane) const {
  // Those to the agent have not started there before they are answered.
  if (peer.requests.under_way() > 0) return false;
  if (!dialect_.waits_to_fence) return true;
  // Not what the transport itself has sent since: that may go on for ever.
  if (!lane.fence) lane.fence = lane.queue.next();
  return lane.queue.Passed(*lane.fence);
}

bool VerbsTransport::SendOurs(VerbsPeer& peer, size_t requests,
                              absl::FunctionRef<void(WorkChain&)> add) {
  SendQueue& queue = peer.lane(Lane::kSmall).queue;
  if (!HasRoom(queue, 0, requests)) return false;
  WorkChain chain(setup_, RequestId(peer.rank, Lane::kSmall, queue), peer.credits);
  add(chain);
  queue.Push(static_cast<uint32_t>(requests));
  return PostChain(peer, Lane::kSmall, chain);
}

bool VerbsTransport::PostChain(VerbsPeer& peer, Lane lane, WorkChain& chain) {
  SendQueue& queue = peer.lane(lane).queue;
  if (chain.Prove()) queue.Push(1);
  ibv_send_wr* refused = nullptr;
  under_way_ += chain.size();
  ibv_send_wr* const first = chain.Close();
  if (device_->library().post_send(queue.pair().get(), first, &refused) == 0) return true;
  OnRefused(peer, lane, refused);
  return false;
}

void VerbsTransport::OnRefused(VerbsPeer& peer, Lane lane, const ibv_send_wr* refused) {
  // There was room, so the queue pair or the device is broken. What was refused has no
  // completion.
  uint32_t count = 0;
  for (const ibv_send_wr* request = refused; request != nullptr; request = request->next) ++count;
  peer.lane(lane).queue.Refuse(
      count, [&](const SendQueue::Mark& mark) { EndMark(peer, mark, Event::Result::kPeerDown); });
  under_way_ -= count;
  Break(peer, lane, Loss::kRefused);
}

void VerbsTransport::OnRequestSent(VerbsPeer& peer, uint32_t request, Event::Result result) {
  peer.requests.OnSent(request, result,
                       [&](uint64_t token, Event::Result end) { EndRequest(peer, token, end); });
}

void VerbsTransport::EndRequest(VerbsPeer& peer, uint64_t token, Event::Result result) {
  --unanswered_;
  End(peer.rank, token, result);
}

void VerbsTransport::OnSendFailed(VerbsPeer& peer, Lane lane, const ibv_wc& completion) {
  // Those before it have succeeded, unless that is to be proved.
  const Event::Result result = ResultOf(completion);
  while (const SendQueue::Mark* mark = peer.lane(lane).queue.Ended()) {
    const bool succeeded =
        mark->position != static_cast<uint32_t>(completion.wr_id) && !dialect_.proves;
    EndMark(peer, *mark, succeeded ? Event::Result::kOk : result);
  }
  Break(peer, lane, LossOf(completion.status));
}

}  // namespace weft
