#include "runtime/transport/tcp/served_lane.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/doorbell.h"
#include "runtime/transport/address.h"
#include "runtime/transport/cpu_atomics.h"
#include "runtime/transport/move.h"
#include "runtime/transport/tcp/sockets.h"

namespace weft {
namespace {

// On the bulk lane little is read ahead of a put's data, so that most go straight to their place.
constexpr size_t kBulkReadAhead = 4 << 10;
// A put up to here is taken in whole.
constexpr size_t kWholePut = 2 << 10;
// Data of gets up to here are copied, so that many replies go out together.
constexpr size_t kCopied = 16 << 10;
// What one Serve takes in at most, so that others have their turn.
constexpr size_t kTurn = 256 << 10;
// What a reply may take beside its data: those that were done before it, its own header and word,
// and those that are done behind it.
constexpr size_t kReplyRoom = 3 * ReplyFrame::kBytes + ReplyFrame::kWordBytes;

}  // namespace

ServedLane::ServedLane(UniqueFd socket, Lane lane, const ServedMemory& memory)
    : socket_(std::move(socket)),
      read_limit_(lane == Lane::kBulk ? kBulkReadAhead : SIZE_MAX),
      memory_(memory) {}

ServedLane::~ServedLane() { HangUp(socket_); }

ServedLane::Standing ServedLane::Serve(bool& any) {
  if (!out_.empty() && !out_.Send(socket())) return Standing::kClosed;
  Standing standing = Standing::kOpen;
  for (size_t turn = 0; standing == Standing::kOpen && out_.empty() && turn < kTurn;) {
    standing = ReadMore(turn);
  }
  if (std::exchange(rang_, false)) Ring(memory_.control->doorbell);
  any |= std::exchange(received_, false);
  return standing;
}

ServedLane::Standing ServedLane::ReadMore(size_t& turn) {
  const bool straight = put_left_ > 0;
  const size_t wanted = straight ? std::min(put_left_, kTurn) : read_limit_;
  const Received received =
      straight ? ReceiveInto(socket(), put_to_, wanted) : in_.Fill(socket(), wanted);
  switch (received.kind) {
    case Received::Kind::kNothing:
      turn = kTurn;
      break;
    case Received::Kind::kClosed:
    case Received::Kind::kBroken:
      return Standing::kClosed;
    case Received::Kind::kSome:
      received_ = true;
      turn += received.bytes;
      // A short read has emptied the socket.
      if (received.bytes < wanted && !straight) turn = kTurn;
      break;
  }
  if (straight) {
    put_to_ += received.bytes;
    put_left_ -= received.bytes;
    if (put_left_ > 0) return Standing::kOpen;
    EndPut(put_);
  }
  Taken taken;
  do {
    do {
      taken = TakeRequest();
    } while (taken == Taken::kOne);
    if (taken == Taken::kRefused) return Standing::kRefused;
    ReplyDone();
    if (!out_.Send(socket())) return Standing::kClosed;
  } while (out_.empty() && (taken == Taken::kNoRoom || done_ > 0));
  return Standing::kOpen;
}

ServedLane::Taken ServedLane::TakeRequest() {
  const std::span<const std::byte> bytes = in_.bytes();
  if (put_left_ > 0 || bytes.size() < RequestFrame::kMinBytes) return Taken::kNone;
  const std::optional<size_t> header =
      RequestFrame::BytesOf(bytes.first<RequestFrame::kMinBytes>());
  if (!header) return Refuse(RefusalReason::kMalformed, "it has sent what is no request");
  if (bytes.size() < *header) return Taken::kNone;
  const RequestFrame frame = *RequestFrame::Decode(bytes.first(*header));
  const std::span<std::byte> segment = memory_.segments[static_cast<size_t>(frame.segment)];
  if (segment.empty()) {
    return Refuse(RefusalReason::kUnregistered, "it has named a segment that is not there");
  }
  if (!CheckAddress(frame)) {
    return Refuse(RefusalReason::kOutOfBounds,
                  absl::StrCat("it has asked for ", frame.length, " bytes at offset ", frame.offset,
                               " of a segment of ", segment.size()));
  }
  std::byte* const memory = segment.data() + frame.offset;
  if (frame.kind == Op::Kind::kPut) {
    return TakePut(frame, memory, bytes.subspan(*header));
  }
  const bool copied = frame.kind == Op::Kind::kGet && frame.length <= kCopied;
  if (out_.room() < kReplyRoom + (copied ? frame.length : 0)) return Taken::kNoRoom;
  in_.Drop(*header);
  CarryOut(frame, memory);
  return Taken::kOne;
}

ServedLane::Taken ServedLane::TakePut(const RequestFrame& frame, std::byte* memory,
                                      std::span<const std::byte> data) {
  if (data.size() < frame.length && frame.length <= kWholePut) return Taken::kNone;
  const size_t taken = std::min<size_t>(data.size(), frame.length);
  CopyToShared(memory, data.data(), taken);
  in_.Drop(frame.bytes() + taken);
  if (taken == frame.length) {
    EndPut(frame);
  } else {
    put_ = frame;
    put_to_ = memory + taken;
    put_left_ = frame.length - taken;
  }
  return Taken::kOne;
}

bool ServedLane::CheckAddress(const RequestFrame& frame) {
  const RemoteRegion region = {.length =
                                   memory_.segments[static_cast<size_t>(frame.segment)].size()};
  return GoodAddress({.kind = frame.kind,
                      .ride = frame.ride,
                      .region = &region,
                      .offset = frame.offset,
                      .length = frame.length,
                      .operand = frame.operand,
                      .compare = frame.compare});
}

void ServedLane::CarryOut(const RequestFrame& frame, std::byte* memory) {
  if (frame.kind == Op::Kind::kGet) {
    ReplyWithData(frame, memory);
    return;
  }
  const uint64_t old = AtomicOnCpu(memory, frame.kind, frame.length, frame.operand, frame.compare);
  if (frame.kind == Op::Kind::kSet) {
    ++done_;
  } else {
    ReplyWithWord(old);
  }
}

void ServedLane::ReplyWithData(const RequestFrame& frame, const std::byte* memory) {
  ReplyDone();
  const bool copied = frame.length <= kCopied;
  std::byte* const at = out_.Extend(ReplyFrame::kBytes + (copied ? frame.length : 0));
  ReplyFrame{.kind = ReplyFrame::Kind::kData, .number = frame.length}.Encode(at);
  if (copied) {
    CopyFromShared(at + ReplyFrame::kBytes, memory, frame.length);
  } else {
    out_.SetBlock(memory, frame.length);
  }
}

void ServedLane::ReplyWithWord(uint64_t word) {
  ReplyDone();
  std::byte* const at = out_.Extend(ReplyFrame::kBytes + ReplyFrame::kWordBytes);
  ReplyFrame{.kind = ReplyFrame::Kind::kWord}.Encode(at);
  std::memcpy(at + ReplyFrame::kBytes, &word, sizeof(word));
}

void ServedLane::EndPut(const RequestFrame& frame) {
  ++done_;
  // All of these are seq_cst, which Ring relies on.
  if (frame.ride == Ride::kNone) return;
  rang_ = true;
  if (frame.ride == Ride::kCounter) {
    memory_.control->counters[frame.operand].arrivals.fetch_add(1);
    return;
  }
  std::byte* const word =
      memory_.segments[static_cast<size_t>(frame.segment)].data() + frame.compare;
  std::atomic_ref<uint64_t> signal(*reinterpret_cast<uint64_t*>(word));
  if (frame.ride == Ride::kSetSignal) {
    signal.store(frame.operand);
  } else {
    signal.fetch_add(frame.operand);
  }
}

void ServedLane::ReplyDone() {
  if (done_ == 0 || out_.room() < ReplyFrame::kBytes) return;
  ReplyFrame{.kind = ReplyFrame::Kind::kDone, .number = std::exchange(done_, 0)}.Encode(
      out_.Extend(ReplyFrame::kBytes));
}

ServedLane::Taken ServedLane::Refuse(RefusalReason reason, std::string why) {
  why_ = std::move(why);
  ReplyDone();
  if (out_.room() >= ReplyFrame::kBytes) {
    ReplyFrame{.kind = ReplyFrame::Kind::kRefused, .reason = reason}.Encode(
        out_.Extend(ReplyFrame::kBytes));
    out_.Send(socket());  // If it does not take it, the end of the connection must do.
  }
  return Taken::kRefused;
}

}  // namespace weft
