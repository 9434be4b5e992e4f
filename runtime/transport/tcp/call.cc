#include "runtime/transport/tcp/call.h"

#include <sodium.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/transport/tcp/inbox.h"
#include "runtime/transport/tcp/sockets.h"

namespace weft {
namespace {

// What one address gets before the next is tried: many round trips, but short enough that a
// second one is reached soon where the first leads nowhere. Longer at each round, but less than
// the called waits for the proof.
constexpr absl::Duration kAttempt = absl::Milliseconds(500);
constexpr absl::Duration kLongestAttempt = absl::Seconds(2);
// After a round, with up to as much again at random, so that many do not call at once.
constexpr absl::Duration kPause = absl::Milliseconds(20);

constexpr std::string_view kSilence = "it does not answer";

const char* NameOf(HelloRefusal refusal) {
  switch (refusal) {
    case HelloRefusal::kNone:
      break;
    case HelloRefusal::kVersion:
      return "it speaks another version of Weft over TCP: run the same version on all hosts";
    case HelloRefusal::kNotMe:
      return "another rank of the job listens there";
    case HelloRefusal::kGivenUp:
      return "it has given this rank up";
    case HelloRefusal::kStale:
      return "it has a later connection of this rank";
    case HelloRefusal::kTooMany:
      return "too many call it at once";
  }
  return "it did not say why";
}

}  // namespace

Call::Call(const TcpOptions& options, SocketSet& sockets, Hello hello, uint32_t& number,
           std::vector<SocketAddress> to)
    : options_(options),
      sockets_(sockets),
      hello_(hello),
      number_(number),
      to_(std::move(to)),
      end_(Deadline::After(options.connect_limit)),
      heard_(to_.size()) {}

std::string Call::why() const {
  std::string all;
  for (size_t i = 0; i < to_.size(); ++i) {
    absl::StrAppend(&all, all.empty() ? "" : "; ", to_[i].ToString(), ": ",
                    heard_[i].empty() ? "it was not tried" : heard_[i]);
  }
  return all;
}

SocketTag Call::tag() const {
  return {.role = SocketTag::Role::kCalling,
          .lane = hello_.lane,
          .peer = static_cast<uint16_t>(hello_.to),
          .socket = socket_.get()};
}

Call::Outcome Call::Step() {
  if (stage_ == Stage::kPausing) {
    if (!next_.Expired()) return Outcome::kUnderWay;
    absl::StatusOr<UniqueFd> socket =
        StartConnect(to_[attempt_ % to_.size()], options_.silence_limit);
    if (!socket.ok()) {
      return Failed(std::string(socket.status().message()),
                    absl::IsResourceExhausted(socket.status()));
    }
    socket_ = *std::move(socket);
    stage_ = Stage::kConnecting;
    next_ = std::min(
        end_, Deadline::After(std::min(kLongestAttempt, kAttempt * (1 + attempt_ / to_.size()))));
    if (absl::Status added = sockets_.Add(tag(), /*writable=*/true); !added.ok()) {
      return Failed(std::string(added.message()), /*final=*/true);
    }
  }
  if (stage_ == Stage::kConnecting) {
    const absl::Status connected = FinishConnect(socket_.get());
    if (absl::IsDeadlineExceeded(connected)) {
      return next_.Expired() ? Failed(kSilence) : Outcome::kUnderWay;
    }
    if (!connected.ok()) return Failed(std::string(connected.message()));
    SayHello();
  }
  return ReadChallenge();
}

void Call::SayHello() {
  sockets_.Change(tag(), /*readable=*/true, /*writable=*/false);
  hello_.number = ++number_;
  hello_.nonce = MakeTcpNonce();
  said_ = hello_.Encode();
  read_ = 0;
  stage_ = Stage::kGreeting;
  // A new connection takes so little at once; what it does not take, the challenge will miss.
  send(socket_.get(), said_.data(), said_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

Call::Outcome Call::ReadChallenge() {
  const Received received =
      ReceiveInto(socket_.get(), reinterpret_cast<std::byte*>(challenge_.data()) + read_,
                  challenge_.size() - read_);
  switch (received.kind) {
    case Received::Kind::kNothing:
      return next_.Expired() ? Failed(kSilence) : Outcome::kUnderWay;
    case Received::Kind::kClosed:
      return Failed("whoever listens there has hung up: it is no Weft, or of another version");
    case Received::Kind::kBroken:
      return Failed(strerror(received.error));
    case Received::Kind::kSome:
      break;
  }
  read_ += received.bytes;
  if (read_ < challenge_.size()) return Outcome::kUnderWay;
  // This process has stood still: the called may have hung up.
  if (next_.Expired()) return Failed(kSilence);
  const absl::StatusOr<Challenge> challenge = Challenge::Open(challenge_, options_.secret, said_);
  if (!challenge.ok()) return Failed(std::string(challenge.status().message()));
  if (challenge->refusal != HelloRefusal::kNone) {
    return Failed(NameOf(challenge->refusal), challenge->refusal == HelloRefusal::kGivenUp);
  }
  if (challenge->version < hello_.oldest || challenge->version > hello_.newest) {
    return Failed(NameOf(HelloRefusal::kVersion), /*final=*/true);
  }
  const TcpProof proof = ProveCaller(options_.secret, said_, challenge_);
  if (send(socket_.get(), proof.data(), proof.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
      static_cast<ssize_t>(proof.size())) {
    return Failed("it has hung up");
  }
  return Outcome::kMet;
}

void Call::HangUp() {
  sockets_.Remove(socket_.get());
  weft::HangUp(socket_);
}

Call::Outcome Call::Failed(std::string_view why, bool final) {
  HangUp();
  std::string& heard = heard_[attempt_ % to_.size()];
  // Silence tells less than whatever was heard before.
  if (heard.empty() || why != kSilence) heard = why;
  if (final || end_.Expired()) return Outcome::kFailed;
  stage_ = Stage::kPausing;
  next_ = Deadline::AtMonotonicNanos(0);
  if (++attempt_ % to_.size() == 0) {
    const auto extra = absl::Microseconds(
        randombytes_uniform(static_cast<uint32_t>(absl::ToInt64Microseconds(kPause))));
    next_ = Deadline::After(kPause + extra);
  }
  return Outcome::kUnderWay;
}

}  // namespace weft
