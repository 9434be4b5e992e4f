// What the verbs transport knows of one peer: its lanes, each a queue pair, the credits
// of both directions, and how far a bulk lane that starts anew has come.
//
// Guarded by the transport's lock.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_PEER_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_PEER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "runtime/transport/transport.h"
#include "runtime/transport/verbs/address_blob.h"
#include "runtime/transport/verbs/arrivals.h"
#include "runtime/transport/verbs/loss.h"
#include "runtime/transport/verbs/message.h"
#include "runtime/transport/verbs/requests.h"
#include "runtime/transport/verbs/send_queue.h"
#include "runtime/transport/verbs/work_chain.h"
#include "weft/rank.h"

namespace weft {

inline constexpr Lane kLanes[] = {Lane::kSmall, Lane::kBulk};

struct VerbsPeer {
  enum class State : uint8_t { kNew, kConnected, kGone };
  // What the peer is yet to be told, since there was no room.
  enum class Due : uint8_t { kNothing, kAsk, kAnswer };

  // Of messages.
  struct Credits {
    uint64_t sent = 0;
    uint64_t taken = 0;     // That it sent us.
    uint64_t returned = 0;  // Of those.
    bool due() const { return taken - returned >= Arrivals::kCredits / 2; }
  };
  struct LaneEnd {
    explicit LaneEnd(SendQueue q) : queue(std::move(q)) {}

    SendQueue queue;
    Credits credits;
    uint32_t life = 0;          // Which connection it is: part of what tells of its credits.
    bool open = false;          // Operations may be posted.
    bool passed = false;        // Something has been acknowledged there, ever.
    Loss broken = Loss::kNone;  // Why it failed; see VerbsTransport::MendBroken.
    // What a fence waits for to be over; VerbsTransport::MayStartBehind.
    std::optional<uint32_t> fence;
  };

  // Replies that are yet to be sent: never more than there are requests.
  struct Replies {
    struct Reply {
      Message message;
      Lane lane;  // On which it was asked for.
    };
    Reply replies[Requests::kMost];
    size_t count = 0;
    bool full() const { return count == std::size(replies); }
    std::span<const Reply> all() const { return {replies, count}; }
    void Drop(Lane lane) {
      const auto of_lane = [lane](const Reply& reply) { return reply.lane == lane; };
      count = static_cast<size_t>(std::remove_if(replies, replies + count, of_lane) - replies);
    }
  };

  VerbsPeer(Rank r, SendQueue small, SendQueue bulk)
      : rank(r), lanes{LaneEnd(std::move(small)), LaneEnd(std::move(bulk))} {}
  LaneEnd& lane(Lane lane) { return lanes[static_cast<size_t>(lane)]; }
  const LaneEnd& lane(Lane lane) const { return lanes[static_cast<size_t>(lane)]; }
  bool any_due() const {
    return lanes[0].credits.due() || lanes[1].credits.due() || replies.count > 0 ||
           due != Due::kNothing;
  }

  const Rank rank;
  State state = State::kNew;
  Loss loss = Loss::kNone;   // kGone: why.
  LaneEnd lanes[2];          // By Lane.
  VerbsAddress::Pairs ours;  // As they were exchanged.

  bool reached = false;  // Connect was called,
  uint32_t untold = 0;   // and this many of its calls were not yet told that it is connected.
  std::string why_lost;  // Of Loss::kNoConnection.

  // What Connect was told, or the peer's request.
  RemotePort port;
  VerbsAddress::Pairs ends;
  WorkChain::Remote credits;  // The words by which it reads what we took in, one a lane.

  Requests requests;  // Of ours to its agent.
  Replies replies;

  // When an operation on the bulk lane is cut off, its queue pair is replaced, and the
  // peer asked to connect to the new one, by its number. It replaces its own, too, and
  // answers with that one's number: until then the lane takes nothing.
  bool awaits_answer = false;
  Due due = Due::kNothing;
  uint32_t far_number = 0;  // Of the pair that ours was last connected anew to.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_PEER_H_
