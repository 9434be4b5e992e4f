#include "runtime/transport/tcp/greeting.h"

#include <sys/socket.h>

#include <algorithm>
#include <span>

#include "runtime/transport/tcp/inbox.h"

namespace weft {

Greeting::Outcome Greeting::Step(const JobSecret& secret, Judge judge) {
  if (stage_ == Stage::kHello) {
    if (Outcome read = Read(Hello::kBytes); read != Outcome::kMet) return read;
    if (Outcome answered = AnswerHello(secret, judge); answered != Outcome::kMet) return answered;
  }
  if (Outcome read = Read(sizeof(TcpProof)); read != Outcome::kMet) return read;
  const std::span<const uint8_t> proof = std::span(buffer_).first<sizeof(TcpProof)>();
  // Others may have come in meanwhile.
  return SameInConstantTime(ProveCaller(secret, said_, challenge_), proof) &&
                 judge(hello_) == HelloRefusal::kNone
             ? Outcome::kMet
             : Outcome::kFailed;
}

Greeting::Outcome Greeting::Read(size_t bytes) {
  const Received received =
      ReceiveInto(socket(), reinterpret_cast<std::byte*>(buffer_.data()) + read_, bytes - read_);
  switch (received.kind) {
    case Received::Kind::kNothing:
      return end_.Expired() ? Outcome::kFailed : Outcome::kUnderWay;
    case Received::Kind::kClosed:
    case Received::Kind::kBroken:
      return Outcome::kFailed;
    case Received::Kind::kSome:
      break;
  }
  read_ += received.bytes;
  return read_ == bytes ? Outcome::kMet : Outcome::kUnderWay;
}

Greeting::Outcome Greeting::AnswerHello(const JobSecret& secret, Judge judge) {
  std::copy_n(buffer_.begin(), said_.size(), said_.begin());
  read_ = 0;
  const absl::StatusOr<Hello> hello = Hello::Decode(said_);
  // One that speaks another version hears which this is; what is no hello hears nothing.
  if (!hello.ok() && !absl::IsFailedPrecondition(hello.status())) return Outcome::kFailed;
  Challenge challenge = {.nonce = MakeTcpNonce()};
  if (hello.ok()) hello_ = *hello;
  challenge.refusal = hello.ok() ? judge(hello_) : HelloRefusal::kVersion;
  challenge_ = challenge.Seal(secret, said_);
  const ssize_t sent =
      send(socket(), challenge_.data(), challenge_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(challenge_.size()) || challenge.refusal != HelloRefusal::kNone) {
    return Outcome::kFailed;
  }
  stage_ = Stage::kProof;
  return Outcome::kMet;
}

}  // namespace weft
