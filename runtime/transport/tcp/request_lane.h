// One lane of this rank's operations on a peer: its connection, what is yet to be sent, and what is
// outstanding. Replies come in the order of the requests, so that an operation is known by its
// place.
//
// The operations' local memory is read and written until their events are there, or End was called.
// One thread at a time.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_REQUEST_LANE_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_REQUEST_LANE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/base/unique_fd.h"
#include "runtime/transport/tcp/event_queue.h"
#include "runtime/transport/tcp/frame.h"
#include "runtime/transport/tcp/inbox.h"
#include "runtime/transport/tcp/outbox.h"
#include "runtime/transport/transport.h"
#include "weft/rank.h"

namespace weft {

class RequestLane {
 public:
  // How many events may be due.
  static constexpr size_t kMaxWaiting = 1024;

  explicit RequestLane(Rank peer) : peer_(peer) {}

  // Operations go over `socket` from here on; the lane must be closed.
  void Open(UniqueFd socket);
  bool open() const { return static_cast<bool>(socket_); }
  int socket() const { return socket_.get(); }

  // Takes in a prefix of `ops`, all of this lane, and returns its length; Send sends them.
  size_t Post(std::span<const Op> ops);
  // False: the connection is broken, and `why` tells.
  bool Send();
  bool unsent() const { return !out_.empty(); }

  // Takes in the replies that have come, some at a time, and pushes the events. False as above.
  bool Receive(EventQueue& events, bool& any);
  // Pushes the events of those at the front that are done: that need no reply, if Receive was not
  // called.
  void TellDone(EventQueue& events);
  // Whether there is anything to Receive.
  bool waiting() const { return waiting_head_ != waiting_tail_ || done_ != posted_; }

  // All that is outstanding ends as kPeerDown, and the connection is closed.
  void End(EventQueue& events);

  const std::string& why() const { return why_; }

 private:
  // An operation whose event, or result, is due.
  struct Waiting {
    enum class Kind : uint8_t { kDone, kWord, kData, kBadAddress };
    uint64_t token;
    uint64_t number;  // Of its request; of the one before, if it has none.
    std::byte* local;
    uint32_t length;
    Kind kind;
  };

  bool Accept(const Op& op);
  void Push(const Waiting& waiting) { ring_[waiting_tail_++ % kMaxWaiting] = waiting; }
  Waiting& front() { return ring_[waiting_head_ % kMaxWaiting]; }
  // Parses what is in the inbox. False: it is nonsense.
  bool TakeReplies(EventQueue& events);
  bool TakeReply(const ReplyFrame& reply, EventQueue& events, bool& whole);
  void Tell(const Waiting& waiting, EventQueue& events);
  // The one at the front is done, and those behind it that need no more.
  void EndFront(EventQueue& events);
  bool Broken(std::string why);

  const Rank peer_;
  UniqueFd socket_;
  Outbox out_{size_t{64} << 10};
  Inbox in_{size_t{64} << 10};
  std::unique_ptr<Waiting[]> ring_;
  uint64_t waiting_head_ = 0;
  uint64_t waiting_tail_ = 0;
  uint64_t posted_ = 0;  // Requests, ever.
  uint64_t done_ = 0;    // Those that were replied to.
  // Of the get at the front, what is yet to come.
  std::byte* data_to_ = nullptr;
  size_t data_left_ = 0;
  std::string why_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_REQUEST_LANE_H_
