// How a peer's request is answered.
#include <algorithm>
#include <utility>

#include "runtime/transport/verbs/cm_connector.h"

namespace weft {

void CmConnector::OnRequest(const Happened& event) {
  using Refusal = CmMessage::Refusal;
  CmIdHandle id(event.id, listener_.library().destroy_id);
  const CmMessage::Nonce proof = CmMessage::ProofOf(event.data);
  const auto request = CmMessage::Open(event.data, self_.secret, address().nonce);
  if (!request.ok()) {
    return Refuse(
        std::move(id), CmMessage(), proof,
        absl::IsFailedPrecondition(request.status()) ? Refusal::kVersion : Refusal::kProof);
  }
  Refusal refusal = Judge(*request, event);
  if (refusal == Refusal::kNone) refusal = Accept(id, *request, event);
  if (refusal != Refusal::kNone) Refuse(std::move(id), *request, proof, refusal);
}

CmMessage::Refusal CmConnector::Judge(const CmMessage& request, const Happened& event) {
  using Refusal = CmMessage::Refusal;
  if (request.kind != CmMessage::Kind::kRequest || request.to != self_.rank ||
      request.from >= self_.size || request.epoch != 0 ||
      // iWARP says nothing of the sender's queue pair.
      (!device_->iwarp() && request.pair != event.pair)) {
    return Refusal::kProof;
  }
  LaneEnd& end = this->end(request.from, request.lane);
  if (request.number <= end.received) return Refusal::kStale;
  end.received = request.number;
  if (request.from == self_.rank) return Refusal::kNone;
  if (request.number <= end.opened) return Refusal::kStale;
  const bool asking =
      end.state == State::kAddress || end.state == State::kRoute || end.state == State::kRequested;
  return asking && self_.rank < request.from ? Refusal::kYield : Refusal::kNone;
}

CmMessage::Refusal CmConnector::Accept(CmIdHandle& id, const CmMessage& request,
                                       const Happened& event) {
  using Refusal = CmMessage::Refusal;
  const Rank peer = request.from;
  const Lane lane = request.lane;
  const bool self = peer == self_.rank;
  LaneEnd& end = this->end(peer, lane);
  if (!self) {
    if (!owner_.OnRequest(request)) return Refusal::kGone;
    Clear(end);
    // Should this come to nothing, and we want the lane, too.
    end.state = State::kPaused;
    end.due = Deadline::After(end.pause);
  }
  auto pair = owner_.MakePair(peer, lane);
  if (!pair.ok()) return Refusal::kBusy;
  const QueuePair::Depths depths = Depths(event.depths);
  end.opened = std::max(end.sent, end.received);
  const CmMessage reply = {.kind = CmMessage::Kind::kReply,
                           .lane = lane,
                           .from = self_.rank,
                           .to = peer,
                           .number = end.opened,
                           .pair = pair->number()};
  const CmMessage::Bytes data = reply.Seal(self_.secret, CmMessage::ProofOf(event.data));
  rdma_conn_param parameters = Parameters(*pair, depths, data);
  id->context = ContextOf(peer, lane);
  if (!pair->ConnectThrough(listener_.library(), *id, depths).ok() ||
      listener_.library().accept(id.get(), &parameters) != 0) {
    owner_.DropPair(*std::move(pair));
    return Refusal::kBusy;
  }
  if (self) {
    Answerer& answerer = answerers_[static_cast<size_t>(lane)];
    if (answerer.pair.get() != nullptr) owner_.DropPair(std::move(answerer.pair));
    answerer = {std::move(id), *std::move(pair)};
    return Refusal::kNone;
  }
  end.id = std::move(id);
  end.pair = *std::move(pair);
  end.state = State::kAccepted;
  end.due = Deadline();
  return Refusal::kNone;
}

void CmConnector::Refuse(CmIdHandle id, const CmMessage& request, const CmMessage::Nonce& proof,
                         CmMessage::Refusal refusal) {
  CmMessage message = {.kind = CmMessage::Kind::kRefusal,
                       .refusal = refusal,
                       .lane = request.lane,
                       .from = self_.rank,
                       .to = request.from};
  if (request.from < self_.size && refusal != CmMessage::Refusal::kProof) {
    const LaneEnd& end = this->end(request.from, request.lane);
    message.number = std::max(end.sent, end.received);
  }
  const CmMessage::Bytes data = message.Seal(self_.secret, proof);
  // Whether it arrives is the requester's concern.
  listener_.library().reject(id.get(), data.data(), static_cast<uint8_t>(data.size()));
}

}  // namespace weft
