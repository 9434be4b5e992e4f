// How a connection comes about from this side; cm_answer.cc has the other side.
#include "runtime/transport/verbs/cm_connector.h"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr absl::Duration kFirstPause = absl::Milliseconds(10);
constexpr absl::Duration kLongestPause = absl::Seconds(1);
// A request without an answer is lost, or its receiver is busy: the kernel repeats it
// after 4 s, which is long when it was lost.
constexpr absl::Duration kAnswerWithin = absl::Seconds(3);
constexpr int kResolveMs = 2000;
// The transport's lock is held meanwhile.
constexpr int kEventsAtOnce = 16;
// More than a device can do at a time.
constexpr int kMostReads = 128;

}  // namespace

CmConnector::CmConnector(CmListener listener, const VerbsDevice& device, const Self& self,
                         Owner& owner)
    : listener_(std::move(listener)),
      device_(&device),
      self_(self),
      owner_(owner),
      ends_(self.size) {}

void* CmConnector::ContextOf(Rank peer, Lane lane) {
  return reinterpret_cast<void*>(uintptr_t{peer} << 1 | static_cast<uintptr_t>(lane));
}

Deadline CmConnector::next() const {
  Deadline next;
  if (wanted_ == 0) return next;
  for (const PeerEnds& peer : ends_) {
    for (const LaneEnd& end : peer.lanes) {
      if (end.wanted) next = std::min(next, end.due);
    }
  }
  return next;
}

void CmConnector::Want(LaneEnd& end, bool wanted) {
  if (std::exchange(end.wanted, wanted) != wanted) wanted ? ++wanted_ : --wanted_;
}

void CmConnector::Open(Rank peer, Lane lane, absl::Duration delay) {
  LaneEnd& end = this->end(peer, lane);
  if (end.wanted || end.state == State::kOpen) return;
  Want(end, true);
  end.give_up = Deadline::After(kPatience);
  end.pause = kFirstPause;
  if (end.state == State::kAccepted) return;
  end.state = State::kPaused;
  end.due = Deadline::After(delay);
  if (delay == absl::ZeroDuration()) Depart(peer, lane, end);
}

void CmConnector::Close(Rank peer, Lane lane) {
  LaneEnd& end = this->end(peer, lane);
  Want(end, false);
  Clear(end);
  if (peer != self_.rank) return;
  Answerer& answerer = answerers_[static_cast<size_t>(lane)];
  if (answerer.pair.get() != nullptr) owner_.DropPair(std::move(answerer.pair));
  answerer = {};
}

void CmConnector::Clear(LaneEnd& end) {
  if (end.pair.get() != nullptr) owner_.DropPair(std::exchange(end.pair, QueuePair()));
  end.id.reset();
  end.state = State::kIdle;
  end.due = Deadline();
}

void CmConnector::Step() {
  int taken = 0;
  for (; taken < kEventsAtOnce; ++taken) {
    std::optional<Happened> event = Take();
    if (!event) break;
    OnEvent(*std::move(event));
  }
  // Nothing is late whose answer may be among those that are left.
  if (wanted_ == 0 || taken == kEventsAtOnce) return;
  for (Rank peer = 0; peer < self_.size; ++peer) {
    for (Lane lane : {Lane::kSmall, Lane::kBulk}) {
      LaneEnd& end = this->end(peer, lane);
      if (!end.wanted || !end.due.Expired()) continue;
      if (end.state == State::kPaused) {
        Depart(peer, lane, end);
      } else if (end.state == State::kRequested) {
        TryAgain(peer, lane, end, "it does not answer");
      }
    }
  }
}

std::optional<CmConnector::Happened> CmConnector::Take() {
  rdma_cm_event* event = nullptr;
  if (listener_.library().get_cm_event(listener_.channel(), &event) != 0) return std::nullopt;
  const rdma_conn_param& told = event->param.conn;
  Happened taken = {.what = event->event,
                    .status = event->status,
                    .id = event->id,
                    .data = {},
                    .pair = told.qp_num,
                    .depths = {.in = told.responder_resources, .out = told.initiator_depth}};
  if (told.private_data != nullptr) {
    const auto* const data = static_cast<const uint8_t*>(told.private_data);
    taken.data.assign(data, data + told.private_data_len);
  }
  listener_.library().ack_cm_event(event);
  return taken;
}

void CmConnector::OnEvent(Happened event) {
  if (event.what == RDMA_CM_EVENT_CONNECT_REQUEST) return OnRequest(event);
  if (listener_.is(event.id)) return;
  const auto context = reinterpret_cast<uintptr_t>(event.id->context);
  const Rank peer = static_cast<Rank>(context >> 1);
  const Lane lane = static_cast<Lane>(context & 1);
  LaneEnd& end = this->end(peer, lane);
  // Else it is our own answering end, whose fate the asking one shares.
  if (end.id.get() == event.id) OnEventOf(peer, lane, end, event);
}

void CmConnector::OnEventOf(Rank peer, Lane lane, LaneEnd& end, const Happened& event) {
  const bool asked = end.state == State::kRequested;
  switch (event.what) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      end.state = State::kRoute;
      if (listener_.library().resolve_route(end.id.get(), kResolveMs) != 0) {
        TryAgain(peer, lane, end, absl::StrCat("no path: ", strerror(errno)));
      }
      return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return OnRoute(peer, lane, end);
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return TryAgain(peer, lane, end,
                      absl::StrCat("no way leads there: ", strerror(std::abs(event.status))));
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      return OnReply(peer, lane, end, event);
    case RDMA_CM_EVENT_ESTABLISHED:
      // Of iWARP this is the reply, too.
      if (asked) return OnReply(peer, lane, end, event);
      if (end.state == State::kAccepted) Opened(peer, lane, end);
      return;
    case RDMA_CM_EVENT_REJECTED:
      if (asked) return OnRefused(peer, lane, end, event);
      break;
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_CONNECT_ERROR:
      if (asked) return TryAgain(peer, lane, end, "it cannot be reached");
      break;
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      break;
    default:  // Of no consequence.
      return;
  }
  // What stood, or was accepted, is over.
  if (std::exchange(end.state, State::kIdle) == State::kOpen) {
    Clear(end);
    return owner_.OnClosed(peer, lane);
  }
  if (end.wanted) return TryAgain(peer, lane, end, "the peer has ended the connection");
  Clear(end);
}

void CmConnector::Depart(Rank peer, Lane lane, LaneEnd& end) {
  Clear(end);
  auto id = listener_.Depart(*ends_[peer].at, ContextOf(peer, lane));
  if (!id.ok()) return TryAgain(peer, lane, end, std::string(id.status().message()));
  end.id = *std::move(id);
  end.state = State::kAddress;
}

void CmConnector::OnRoute(Rank peer, Lane lane, LaneEnd& end) {
  auto pair = owner_.MakePair(peer, lane);
  if (!pair.ok()) return GiveUp(peer, lane, end, pair.status());
  end.pair = *std::move(pair);
  end.sent = std::max(end.sent, end.received) + 1;
  const CmMessage request = {.kind = CmMessage::Kind::kRequest,
                             .lane = lane,
                             .from = self_.rank,
                             .to = peer,
                             .number = end.sent,
                             .pair = end.pair.number(),
                             .credit_address = self_.credits + uint64_t{peer} * 16,
                             .credit_key = self_.credit_key};
  const CmMessage::Bytes data = request.Seal(self_.secret, ends_[peer].at->nonce);
  end.proof = CmMessage::ProofOf(data);
  rdma_conn_param parameters = Parameters(end.pair, Depths({kMostReads, kMostReads}), data);
  if (listener_.library().connect(end.id.get(), &parameters) != 0) {
    return TryAgain(peer, lane, end, absl::StrCat("it cannot be asked: ", strerror(errno)));
  }
  end.state = State::kRequested;
  end.due = Deadline::After(kAnswerWithin);
}

void CmConnector::OnReply(Rank peer, Lane lane, LaneEnd& end, const Happened& event) {
  if (end.state != State::kRequested) return;
  const auto reply = CmMessage::Open(event.data, self_.secret, end.proof);
  if (!reply.ok() || reply->kind != CmMessage::Kind::kReply || reply->from != peer ||
      reply->to != self_.rank || reply->lane != lane) {
    // Whoever it was, it is no rank of this job that we meant.
    return TryAgain(peer, lane, end,
                    absl::StrCat("the answer is not the peer's: ",
                                 reply.ok() ? "it is for another" : reply.status().message()));
  }
  if (!device_->iwarp()) {
    const absl::Status connected =
        end.pair.ConnectThrough(listener_.library(), *end.id, Depths(event.depths));
    if (!connected.ok()) {
      return TryAgain(peer, lane, end, std::string(connected.message()));
    }
    if (listener_.library().establish(end.id.get()) != 0) {
      return TryAgain(peer, lane, end, absl::StrCat("it hung up: ", strerror(errno)));
    }
  }
  end.opened = reply->number;
  Opened(peer, lane, end);
}

void CmConnector::OnRefused(Rank peer, Lane lane, LaneEnd& end, const Happened& event) {
  const auto refusal = CmMessage::Open(event.data, self_.secret, end.proof);
  if (absl::IsFailedPrecondition(refusal.status())) {
    return GiveUp(peer, lane, end, refusal.status());  // Another version.
  }
  if (!refusal.ok() || refusal->kind != CmMessage::Kind::kRefusal) {
    // Nobody listens there, or somebody else: the peer's processes may be on their way.
    return TryAgain(peer, lane, end, absl::StrCat("nobody listens there (", event.status, ")"));
  }
  end.sent = std::max(end.sent, refusal->number);
  switch (refusal->refusal) {
    case CmMessage::Refusal::kYield:
      end.pause = kLongestPause;  // The peer's request will be here before.
      return TryAgain(peer, lane, end, "its own request, which goes first, does not come");
    case CmMessage::Refusal::kGone:
      return GiveUp(peer, lane, end,
                    absl::UnavailableError("it has given this rank up, or has lost it"));
    case CmMessage::Refusal::kProof:
      return GiveUp(peer, lane, end,
                    absl::UnauthenticatedError("it does not take this rank for one of its job"));
    default:
      return TryAgain(peer, lane, end, "it is not ready to connect");
  }
}

void CmConnector::TryAgain(Rank peer, Lane lane, LaneEnd& end, const std::string& trouble) {
  Clear(end);
  if (end.give_up.Expired()) {
    return GiveUp(peer, lane, end,
                  absl::UnavailableError(
                      absl::StrCat("tried for ", absl::FormatDuration(kPatience), ", ", trouble)));
  }
  end.state = State::kPaused;
  end.due = Deadline::After(end.pause);
  end.pause = std::min(2 * end.pause, kLongestPause);
}

void CmConnector::GiveUp(Rank peer, Lane lane, LaneEnd& end, const absl::Status& why) {
  Clear(end);
  Want(end, false);
  const std::optional<CmAddress>& at = ends_[peer].at;
  owner_.OnFailed(peer, lane,
                  absl::Status(why.code(), absl::StrCat("connecting to rank ", peer, " at ",
                                                        at ? at->name() : "an unknown address",
                                                        " by librdmacm: ", why.message())));
}

void CmConnector::Opened(Rank peer, Lane lane, LaneEnd& end) {
  end.state = State::kOpen;
  end.due = Deadline();
  Want(end, false);
  owner_.OnOpen(peer, lane, std::exchange(end.pair, QueuePair()), end.opened);
}

QueuePair::Depths CmConnector::Depths(const QueuePair::Depths& of_peer) const {
  const auto least = [](int ours, uint8_t theirs) {
    return static_cast<uint8_t>(std::min({std::max(ours, 1), int{theirs}, kMostReads}));
  };
  const ibv_device_attr& limits = device_->limits();
  return {.in = least(limits.max_qp_rd_atom, of_peer.in),
          .out = least(limits.max_qp_init_rd_atom, of_peer.out)};
}

rdma_conn_param CmConnector::Parameters(const QueuePair& pair, const QueuePair::Depths& depths,
                                        const CmMessage::Bytes& data) const {
  rdma_conn_param parameters = {};
  parameters.private_data = data.data();
  parameters.private_data_len = static_cast<uint8_t>(data.size());
  parameters.responder_resources = depths.in;
  parameters.initiator_depth = depths.out;
  // What the wire wants to hear of: the queue pair has settings of its own.
  parameters.retry_count = parameters.rnr_retry_count = 6;
  parameters.srq = 1;
  parameters.qp_num = pair.number();
  return parameters;
}

}  // namespace weft
