#include "runtime/transport/tcp/request_lane.h"

#include <string.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/transport/address.h"
#include "runtime/transport/tcp/sockets.h"

namespace weft {
namespace {

// Data of puts up to here are copied, so that many go out together; longer ones are sent from
// where they are.
constexpr size_t kCopied = 16 << 10;
// What one Receive takes in at most, so that others have their turn.
constexpr size_t kTurn = 256 << 10;

const char* NameOf(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kNone:
      break;
    case RefusalReason::kMalformed:
      return "it was malformed";
    case RefusalReason::kOutOfBounds:
      return "it was out of bounds";
    case RefusalReason::kUnregistered:
      return "it named a segment that is not there";
  }
  return "it did not say why";
}

}  // namespace

void RequestLane::Open(UniqueFd socket) {
  socket_ = std::move(socket);
  if (ring_ == nullptr) ring_ = std::make_unique_for_overwrite<Waiting[]>(kMaxWaiting);
}

size_t RequestLane::Post(std::span<const Op> ops) {
  size_t count = 0;
  while (count < ops.size() && Accept(ops[count])) ++count;
  return count;
}

bool RequestLane::Accept(const Op& op) {
  if (waiting_tail_ - waiting_head_ == kMaxWaiting) return false;
  Waiting waiting = {.token = op.token,
                     .number = posted_ + 1,
                     .local = static_cast<std::byte*>(op.local),
                     .length = static_cast<uint32_t>(op.length),
                     .kind = Waiting::Kind::kDone};
  if (!GoodAddress(op) || op.length > UINT32_MAX) {
    waiting.number = posted_;
    waiting.kind = Waiting::Kind::kBadAddress;
    if (op.token != 0) Push(waiting);
    return true;
  }
  const RequestFrame frame = {.kind = op.kind,
                              .ride = op.ride,
                              .segment = static_cast<Segment::Kind>(op.region->base),
                              .offset = op.offset,
                              .length = waiting.length,
                              .operand = op.operand,
                              .compare = op.compare};
  const size_t header = frame.bytes();
  const bool put = op.kind == Op::Kind::kPut;
  const size_t copied = put && op.length <= kCopied ? op.length : 0;
  if (out_.room() < header + copied) return false;
  std::byte* const at = out_.Extend(header + copied);
  frame.Encode(at);
  if (put && op.length > copied) {
    out_.SetBlock(op.local, op.length);
  } else if (copied > 0) {
    std::memcpy(at + header, op.local, copied);
  }
  ++posted_;
  if (op.kind == Op::Kind::kGet) {
    waiting.kind = Waiting::Kind::kData;
  } else if (!put && op.kind != Op::Kind::kSet) {
    waiting.kind = Waiting::Kind::kWord;
  } else if (op.token == 0) {
    return true;  // Ends with the next that has one.
  }
  Push(waiting);
  return true;
}

bool RequestLane::Send() {
  return out_.Send(socket_.get()) || Broken(absl::StrCat("cannot send: ", strerror(errno)));
}

bool RequestLane::Receive(EventQueue& events, bool& any) {
  TellDone(events);  // Of those that no reply will come for.
  for (size_t turn = 0; turn < kTurn;) {
    const bool straight = data_left_ > 0 && in_.empty();
    const size_t wanted = straight ? std::min(data_left_, kTurn) : SIZE_MAX;
    const Received received =
        straight ? ReceiveInto(socket_.get(), data_to_, wanted) : in_.Fill(socket_.get(), wanted);
    switch (received.kind) {
      case Received::Kind::kNothing:
        return true;
      case Received::Kind::kClosed:
        return Broken("it has closed the connection");
      case Received::Kind::kBroken:
        return Broken(strerror(received.error));
      case Received::Kind::kSome:
        break;
    }
    any = true;
    turn += received.bytes;
    if (straight) {
      data_to_ += received.bytes;
      data_left_ -= received.bytes;
      if (data_left_ == 0) {
        EndFront(events);
      }
      if (received.bytes < wanted) return true;
    } else {
      if (!TakeReplies(events)) return false;
      // Nothing was left behind in the socket, most likely.
      if (data_left_ == 0) return true;
    }
  }
  return true;
}

bool RequestLane::TakeReplies(EventQueue& events) {
  for (;;) {
    const std::span<const std::byte> bytes = in_.bytes();
    if (data_left_ > 0) {
      const size_t count = std::min(bytes.size(), data_left_);
      if (count == 0) return true;
      std::memcpy(data_to_, bytes.data(), count);
      in_.Drop(count);
      data_to_ += count;
      data_left_ -= count;
      if (data_left_ > 0) return true;
      EndFront(events);
      continue;
    }
    if (bytes.size() < ReplyFrame::kBytes) return true;
    const std::optional<ReplyFrame> reply = ReplyFrame::Decode(bytes.first<ReplyFrame::kBytes>());
    if (!reply) return Broken("it has sent a malformed reply");
    bool whole = true;
    if (!TakeReply(*reply, events, whole)) return false;
    if (!whole) return true;
  }
}

bool RequestLane::TakeReply(const ReplyFrame& reply, EventQueue& events, bool& whole) {
  const auto is_due = [this](Waiting::Kind kind) {
    return waiting_head_ != waiting_tail_ && front().kind == kind && front().number == done_ + 1;
  };
  switch (reply.kind) {
    case ReplyFrame::Kind::kDone:
      if (reply.number > posted_ - done_) return Broken("it has replied to more than was asked");
      in_.Drop(ReplyFrame::kBytes);
      done_ += reply.number;
      TellDone(events);
      if (waiting_head_ != waiting_tail_ && front().number <= done_) {
        return Broken("it has left out the result of an operation");
      }
      return true;
    case ReplyFrame::Kind::kWord: {
      if (!is_due(Waiting::Kind::kWord)) return Broken("it has sent a word that nobody asked for");
      if (in_.bytes().size() < ReplyFrame::kBytes + ReplyFrame::kWordBytes) {
        whole = false;
        return true;
      }
      const Waiting& waiting = front();
      if (waiting.local != nullptr) {
        std::memcpy(waiting.local, in_.bytes().data() + ReplyFrame::kBytes, waiting.length);
      }
      in_.Drop(ReplyFrame::kBytes + ReplyFrame::kWordBytes);
      ++done_;
      EndFront(events);
      return true;
    }
    case ReplyFrame::Kind::kData:
      if (!is_due(Waiting::Kind::kData) || front().length != reply.number) {
        return Broken("it has sent data that nobody asked for");
      }
      in_.Drop(ReplyFrame::kBytes);
      ++done_;
      data_to_ = front().local;
      data_left_ = front().length;
      if (data_left_ == 0) {
        EndFront(events);
      }
      return true;
    case ReplyFrame::Kind::kRefused:
      break;
  }
  return Broken(absl::StrCat("it has refused a request: ", NameOf(reply.reason)));
}

void RequestLane::TellDone(EventQueue& events) {
  while (waiting_head_ != waiting_tail_ && front().number <= done_ &&
         (front().kind == Waiting::Kind::kDone || front().kind == Waiting::Kind::kBadAddress)) {
    Tell(front(), events);
    ++waiting_head_;
  }
}

void RequestLane::Tell(const Waiting& waiting, EventQueue& events) {
  if (waiting.token == 0) return;
  events.Push({.token = waiting.token,
               .peer = peer_,
               .result = waiting.kind == Waiting::Kind::kBadAddress ? Event::Result::kBadAddress
                                                                    : Event::Result::kOk});
}

void RequestLane::EndFront(EventQueue& events) {
  Tell(front(), events);
  ++waiting_head_;
  TellDone(events);
}

void RequestLane::End(EventQueue& events) {
  for (; waiting_head_ != waiting_tail_; ++waiting_head_) {
    if (front().token == 0) continue;
    events.Push({.token = front().token, .peer = peer_, .result = Event::Result::kPeerDown});
  }
  HangUp(socket_);
  out_.Clear();
  in_.Clear();
  done_ = posted_;
  data_left_ = 0;
}

bool RequestLane::Broken(std::string why) {
  why_ = std::move(why);
  return false;
}

}  // namespace weft
