#include "runtime/transport/tcp/tcp_transport.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/transport/key_registration.h"
#include "runtime/transport/tcp/interfaces.h"
#include "runtime/transport/tcp/sockets.h"

namespace weft {
namespace {

// What the lanes of one peer may have to tell at once, kPeerDown and the answers to Connect
// included.
constexpr size_t kEventsAPeer = 2 * RequestLane::kMaxWaiting + 16;

// How long the word of a death may take from another host.
constexpr absl::Duration kParting = absl::Seconds(1);

}  // namespace

absl::StatusOr<std::unique_ptr<TcpTransport>> TcpTransport::Create(const TcpOptions& options,
                                                                   const NodeView& node) {
  auto interfaces = ListInterfaces();
  if (!interfaces.ok()) return interfaces.status();
  auto addresses = ChooseListened(*interfaces, options.interface, options.one_node);
  if (!addresses.ok()) return addresses.status();
  std::unique_ptr<TcpTransport> transport(new TcpTransport(options, node));
  auto sockets = SocketSet::Make();
  if (!sockets.ok()) return sockets.status();
  transport->sockets_ = *std::move(sockets);
  if (absl::Status on = transport->ListenOn(*std::move(addresses)); !on.ok()) return on;
  return transport;
}

TcpTransport::TcpTransport(const TcpOptions& options, const NodeView& node)
    : options_(options), node_(node), peers_(node.size) {
  memory_.control = &node_.control(node_.rank);
}

TcpTransport::~TcpTransport() = default;

const Transport::Caps& TcpTransport::caps() const {
  static constexpr Caps kCaps = {.name = "tcp",
                                 .needs_service = true,
                                 .wakes_sleepers = true,
                                 .atomics_match_cpu = true,
                                 .max_inline = UINT32_MAX,
                                 .max_length = uint64_t{1} << 30};
  return kCaps;
}

absl::StatusOr<std::unique_ptr<Registration>> TcpTransport::Register(const Segment& segment) {
  if (segment.kind == Segment::Kind::kLocal) return std::make_unique<KeyRegistration>("");
  memory_.segments[static_cast<size_t>(segment.kind)] = segment.bytes;
  return std::make_unique<KeyRegistration>(
      TcpKey{.rank = node_.rank, .segment = segment.kind, .length = segment.bytes.size()}.Encode());
}

std::string TcpTransport::Address() const {
  return TcpAddress{.rank = node_.rank, .listening = addresses_}.Encode();
}

TcpTransport::Peer& TcpTransport::PeerOf(Rank rank) {
  if (peers_[rank] == nullptr) {
    peers_[rank] = std::make_unique<Peer>(rank);
    events_.Reserve(kEventsAPeer);
  }
  return *peers_[rank];
}

absl::Status TcpTransport::Connect(Rank peer, std::string_view address) {
  const absl::StatusOr<TcpAddress> decoded = TcpAddress::Decode(address);
  if (!decoded.ok()) return decoded.status();
  if (peer >= node_.size || decoded->rank != peer) {
    return absl::InvalidArgumentError(absl::StrCat("the address is of rank ", decoded->rank,
                                                   ", not of rank ", peer, " of ", node_.size));
  }
  Peer& p = PeerOf(peer);
  if (p.gone) {
    return absl::UnavailableError(absl::StrCat("rank ", peer, " is gone: ", p.why));
  }
  p.listening = decoded->listening;
  ++p.connects;
  if (p.small.requests.open()) {
    TellConnected(p);
  } else if (p.small.call == nullptr) {
    return StartCall(p, Lane::kSmall);
  }
  return absl::OkStatus();
}

absl::StatusOr<RemoteRegion> TcpTransport::Import(Rank peer, std::string_view key) {
  const absl::StatusOr<TcpKey> decoded = TcpKey::Decode(key);
  if (!decoded.ok()) return decoded.status();
  if (decoded->rank != peer) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key is of rank ", decoded->rank, ", not of rank ", peer));
  }
  return RemoteRegion{.base = static_cast<uint64_t>(decoded->segment), .length = decoded->length};
}

std::string TcpTransport::WhyLost(Rank peer) {
  return peer < peers_.size() && peers_[peer] != nullptr ? peers_[peer]->why : "";
}

void TcpTransport::TellConnected(Peer& peer) {
  for (; peer.connects > 0; --peer.connects) {
    events_.Push({.peer = peer.rank, .kind = Event::Kind::kConnected});
  }
}

void TcpTransport::Abandon(Rank peer, Lane lane) {
  if (peer >= node_.size) return;
  Peer& p = PeerOf(peer);
  if (lane == Lane::kBulk) {
    if (!p.gone) End(p.bulk);
    return;
  }
  if (p.gone) return;
  p.gone = true;
  if (p.why.empty()) p.why = "it was given up";
  for (Outgoing* outgoing : {&p.small, &p.bulk}) {
    outgoing->call.reset();
    End(*outgoing);
  }
  for (Incoming& incoming : p.served) {
    if (incoming.served != nullptr) sockets_->Remove(incoming.served->socket());
    incoming.served.reset();
  }
  if (hot_.peer == &p) hot_.peer = nullptr;
}

void TcpTransport::LosePeer(Peer& peer, std::string why) {
  if (peer.gone) return;
  peer.why = std::move(why);
  Abandon(peer.rank, Lane::kSmall);
  events_.Push({.peer = peer.rank, .kind = Event::Kind::kPeerDown});
}

void TcpTransport::PartFrom(const LaneOf& at) {
  Outgoing& outgoing = at.peer->outgoing(at.lane);
  sockets_->Remove(outgoing.requests.socket());
  outgoing.parts = Deadline::After(kParting);
  parting_.push_back(at);
}

void TcpTransport::StepParting() {
  std::erase_if(parting_, [this](const LaneOf& at) {
    Outgoing& outgoing = at.peer->outgoing(at.lane);
    if (outgoing.parts.infinite()) return true;  // It was given up meanwhile.
    if (!outgoing.parts.Expired()) return false;
    // A lane of long transfers can start anew; the other one is the peer.
    if (at.lane == Lane::kBulk) {
      End(outgoing);
    } else {
      LosePeer(*at.peer, outgoing.requests.why());
    }
    return true;
  });
}

void TcpTransport::End(Outgoing& outgoing) {
  sockets_->Remove(outgoing.requests.socket());
  outgoing.requests.End(events_);
  outgoing.send_armed = false;
  outgoing.parts = Deadline();
}

SocketTag TcpTransport::TagOf(const Peer& peer, Lane lane, SocketTag::Role role, int socket) {
  return {.role = role, .lane = lane, .peer = static_cast<uint16_t>(peer.rank), .socket = socket};
}

size_t TcpTransport::Post(Rank peer, std::span<const Op> ops) {
  Peer& p = PeerOf(peer);
  if (p.gone) {
    for (const Op& op : ops) {
      if (op.token == 0) continue;
      events_.Push({.token = op.token, .peer = peer, .result = Event::Result::kPeerDown});
    }
    return ops.size();
  }
  size_t posted = 0;
  while (posted < ops.size()) {
    const Lane lane = ops[posted].lane;
    Outgoing& outgoing = p.outgoing(lane);
    if (!outgoing.parts.infinite()) break;
    if (!outgoing.requests.open()) {
      if (outgoing.call == nullptr) {
        if (absl::Status called = StartCall(p, lane); !called.ok()) {
          LosePeer(p, std::string(called.message()));
          return posted + Post(peer, ops.subspan(posted));
        }
      }
      break;
    }
    size_t end = posted + 1;
    while (end < ops.size() && ops[end].lane == lane) ++end;
    const size_t taken = outgoing.requests.Post(ops.subspan(posted, end - posted));
    if (!std::exchange(outgoing.active, true)) active_.push_back({&p, lane});
    posted += taken;
    if (posted < end) break;
  }
  refused_ |= posted < ops.size();
  return posted;
}

size_t TcpTransport::Poll(std::span<Event> events) {
  sockets_->Attend();
  Pump();
  refused_ = false;
  return events_.Take(events);
}

Armed TcpTransport::Arm() { return {.ready = !events_.empty(), .fd = -1, .at = Deadline()}; }

}  // namespace weft
