// How connections come about: listening, calling, and being called.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/transport/tcp/sockets.h"
#include "runtime/transport/tcp/tcp_transport.h"

namespace weft {
namespace {

// Where no descriptor was left for a caller.
constexpr absl::Duration kNextTry = absl::Milliseconds(100);

}  // namespace

absl::Status TcpTransport::ListenOn(std::vector<SocketAddress> addresses) {
  absl::Status last;
  for (SocketAddress& address : addresses) {
    // An address may have gone since it was listed; one is enough.
    absl::StatusOr<UniqueFd> socket = Listen(address);
    if (!socket.ok()) {
      last = socket.status();
      continue;
    }
    if (absl::Status added = sockets_->Add({.socket = socket->get()}); !added.ok()) return added;
    listening_.push_back(*std::move(socket));
    addresses_.push_back(address);
  }
  return addresses_.empty() ? last : absl::OkStatus();
}

absl::Status TcpTransport::StartCall(Peer& peer, Lane lane) {
  Outgoing& outgoing = peer.outgoing(lane);
  if (peer.listening.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", peer.rank, " was posted to before it was connected"));
  }
  outgoing.call = std::make_unique<Call>(options_, *sockets_,
                                         Hello{.from = node_.rank, .to = peer.rank, .lane = lane},
                                         outgoing.number, peer.listening);
  calling_.push_back({&peer, lane});
  return absl::OkStatus();
}

void TcpTransport::StepCalls() {
  for (size_t i = 0; i < calling_.size();) {
    const auto [peer, lane] = calling_[i];
    Outgoing& outgoing = peer->outgoing(lane);
    const Call::Outcome outcome =
        outgoing.call == nullptr ? Call::Outcome::kFailed : outgoing.call->Step();
    if (outcome == Call::Outcome::kUnderWay) {
      ++i;
      continue;
    }
    calling_[i] = calling_.back();
    calling_.pop_back();
    const std::unique_ptr<Call> call = std::move(outgoing.call);
    if (outcome == Call::Outcome::kMet) {
      outgoing.requests.Open(call->TakeSocket());
      sockets_->Change(TagOf(*peer, lane, SocketTag::Role::kRequests, outgoing.requests.socket()),
                       /*readable=*/true, /*writable=*/false);
      if (lane == Lane::kSmall) TellConnected(*peer);
    } else if (call != nullptr) {
      LosePeer(*peer, absl::StrCat("it could not be connected to: ", call->why()));
    }
  }
}

void TcpTransport::Accept() {
  for (const UniqueFd& listening : listening_) {
    if (!AcceptFrom(listening.get())) return;
  }
}

bool TcpTransport::AcceptFrom(int listening) {
  while (meeting_.size() < kMaxMeeting) {
    absl::StatusOr<std::optional<UniqueFd>> socket =
        weft::Accept(listening, options_.silence_limit);
    if (!socket.ok()) {
      hear_again_ = Deadline::After(kNextTry);
      HearListening(false);
      return false;
    }
    if (!socket->has_value()) return true;
    Greeting greeting(**std::move(socket));
    if (!sockets_->Add({.role = SocketTag::Role::kMeeting, .socket = greeting.socket()}).ok()) {
      continue;
    }
    meeting_.push_back(std::move(greeting));
  }
  HearListening(false);
  return false;
}

void TcpTransport::HearListening(bool hear) {
  if (std::exchange(hears_listening_, hear) == hear) return;
  for (const UniqueFd& listening : listening_) {
    sockets_->Change({.socket = listening.get()}, hear, /*writable=*/false);
  }
}

void TcpTransport::StepMeetings() {
  for (size_t i = 0; i < meeting_.size();) {
    const Greeting::Outcome outcome =
        meeting_[i].Step(options_.secret, [this](const Hello& hello) { return Judge(hello); });
    if (outcome == Greeting::Outcome::kUnderWay) {
      ++i;
      continue;
    }
    Greeting greeting = std::move(meeting_[i]);
    meeting_.erase(meeting_.begin() + static_cast<ptrdiff_t>(i));
    if (outcome == Greeting::Outcome::kMet) {
      LetIn(greeting);
    } else {
      sockets_->Remove(greeting.socket());
    }
  }
  if (!hears_listening_ && meeting_.size() < kMaxMeeting && hear_again_.Expired()) {
    HearListening(true);
  }
}

HelloRefusal TcpTransport::Judge(const Hello& hello) {
  if (hello.to != node_.rank || hello.from >= node_.size) return HelloRefusal::kNotMe;
  // Nothing is made for who may be a stranger.
  Peer* const peer = peers_[hello.from].get();
  if (peer != nullptr && peer->gone) return HelloRefusal::kGivenUp;
  const uint32_t stands = peer == nullptr ? 0 : peer->incoming(hello.lane).number;
  return hello.number > stands ? HelloRefusal::kNone : HelloRefusal::kStale;
}

void TcpTransport::LetIn(Greeting& greeting) {
  const Hello& hello = greeting.hello();
  Peer& peer = PeerOf(hello.from);
  Incoming& incoming = peer.incoming(hello.lane);
  if (incoming.served != nullptr) sockets_->Remove(incoming.served->socket());
  incoming.number = hello.number;
  incoming.blocked = false;
  incoming.served = std::make_unique<ServedLane>(greeting.TakeSocket(), hello.lane, memory_);
  sockets_->Change(TagOf(peer, hello.lane, SocketTag::Role::kServed, incoming.served->socket()),
                   /*readable=*/true, /*writable=*/false);
}

}  // namespace weft
