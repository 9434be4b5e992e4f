// Connects the lanes of one rank to its peers through librdmacm, when they are needed, and
// answers the requests of those that need it first.
//
// A lane is opened by a request of either side, which carries a proof (cm_message.h) and a
// number that grows with each request of either side. A request counts once, and only if it is
// younger than the connection that stands; so neither a copy of an old one nor one that was
// overtaken does harm. When both sides ask at once, the request of the lower rank goes on: it
// refuses the other's, which waits for it. What gets lost or finds nobody is tried again, at
// growing intervals, until 30 s have passed: the default deadline of an operation.
//
// A rank's connection to itself has two ends here; the one that answered is kept aside.
//
// Guarded by the transport's lock. Calls make system calls, but wait for no peer.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_CM_CONNECTOR_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_CM_CONNECTOR_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/deadline.h"
#include "runtime/base/job_secret.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/verbs/cm_listener.h"
#include "runtime/transport/verbs/cm_message.h"
#include "runtime/transport/verbs/device.h"
#include "runtime/transport/verbs/queue_pair.h"
#include "weft/rank.h"

namespace weft {

class CmConnector {
 public:
  // Whose connections they are. Called from within Open, Close and Step; may call Open and
  // Close.
  class Owner {
   public:
    virtual ~Owner() = default;
    // A queue pair for that lane, from which messages may come as soon as it is connected.
    virtual absl::StatusOr<QueuePair> MakePair(Rank peer, Lane lane) = 0;
    // It comes to nothing.
    virtual void DropPair(QueuePair pair) = 0;
    // The peer asks for a connection, which ends what stood before. False: there shall be none.
    virtual bool OnRequest(const CmMessage& request) = 0;
    // By the `number`-th request: the same on both sides.
    virtual void OnOpen(Rank peer, Lane lane, QueuePair pair, uint32_t number) = 0;
    // The peer has ended the connection that stood.
    virtual void OnClosed(Rank peer, Lane lane) = 0;
    // There will be no connection; the status names rank, address and reason.
    virtual void OnFailed(Rank peer, Lane lane, const absl::Status& why) = 0;
  };

  // What requests of this rank say. The credit words of peer p are at `credits` + 16 p.
  struct Self {
    Rank rank = 0;
    Rank size = 0;
    JobSecret secret = {};
    uint64_t credits = 0;
    uint32_t credit_key = 0;
  };

  CmConnector(CmListener listener, const VerbsDevice& device, const Self& self, Owner& owner);

  const CmAddress& address() const { return listener_.address(); }
  // Readable when Step has something to do; but for what is due at next().
  int fd() const { return listener_.channel()->fd; }
  Deadline next() const;
  // Whether a lane is being opened by this side.
  bool busy() const { return wanted_ > 0; }

  // Where that peer listens; before the first Open.
  void Reach(Rank peer, const CmAddress& at) { ends_[peer].at = at; }
  // Connects the lane, unless that is under way; after `delay`, if the peer has not until then.
  void Open(Rank peer, Lane lane, absl::Duration delay = absl::ZeroDuration());
  // Ends the connection, or what is to become one.
  void Close(Rank peer, Lane lane);

  // Takes in what has happened, and does what is due.
  void Step();

 private:
  enum class State : uint8_t {
    kIdle,
    kAddress,    // Looking for the device that leads there,
    kRoute,      // and for the path;
    kRequested,  // our request is under way;
    kPaused,     // it failed, and comes again.
    kAccepted,   // The peer's request was accepted, and the peer is yet to hear of it.
    kOpen,
  };

  struct LaneEnd {
    State state = State::kIdle;
    bool wanted = false;
    CmIdHandle id{nullptr, nullptr};
    QueuePair pair;         // Until the connection is open.
    uint32_t sent = 0;      // The last number that a request of ours had, or that we heard of.
    uint32_t received = 0;  // The last number that a request of the peer had.
    uint32_t opened = 0;    // By which the last connection was opened.
    CmMessage::Nonce proof = {};  // Of our request.
    Deadline due;                 // kRequested: it is lost. kPaused: it comes again.
    Deadline give_up;
    absl::Duration pause;
  };
  struct PeerEnds {
    std::optional<CmAddress> at;
    LaneEnd lanes[2];  // By Lane.
  };
  // Of an event, which is acknowledged before it is dealt with.
  struct Happened {
    rdma_cm_event_type what = RDMA_CM_EVENT_TIMEWAIT_EXIT;
    int status = 0;
    rdma_cm_id* id = nullptr;
    std::vector<uint8_t> data;
    uint32_t pair = 0;
    QueuePair::Depths depths;
  };
  // The end of a rank's connection to itself that answers.
  struct Answerer {
    CmIdHandle id{nullptr, nullptr};
    QueuePair pair;
  };

  LaneEnd& end(Rank peer, Lane lane) { return ends_[peer].lanes[static_cast<size_t>(lane)]; }
  static void* ContextOf(Rank peer, Lane lane);

  std::optional<Happened> Take();
  void OnEvent(Happened event);
  void OnEventOf(Rank peer, Lane lane, LaneEnd& end, const Happened& event);

  // --- This side asks. ---
  void Depart(Rank peer, Lane lane, LaneEnd& end);
  void OnRoute(Rank peer, Lane lane, LaneEnd& end);
  void OnReply(Rank peer, Lane lane, LaneEnd& end, const Happened& event);
  void OnRefused(Rank peer, Lane lane, LaneEnd& end, const Happened& event);
  // Later, unless it has taken too long already.
  void TryAgain(Rank peer, Lane lane, LaneEnd& end, const std::string& trouble);
  void GiveUp(Rank peer, Lane lane, LaneEnd& end, const absl::Status& why);

  // --- The peer asks. ---
  void OnRequest(const Happened& event);
  // kNone: it is a good one, and has been noted.
  CmMessage::Refusal Judge(const CmMessage& request, const Happened& event);
  void Refuse(CmIdHandle id, const CmMessage& request, const CmMessage::Nonce& proof,
              CmMessage::Refusal refusal);
  CmMessage::Refusal Accept(CmIdHandle& id, const CmMessage& request, const Happened& event);

  void Opened(Rank peer, Lane lane, LaneEnd& end);
  // Back to idle; the connection that stands ends, too.
  void Clear(LaneEnd& end);
  void Want(LaneEnd& end, bool wanted);
  QueuePair::Depths Depths(const QueuePair::Depths& of_peer) const;
  rdma_conn_param Parameters(const QueuePair& pair, const QueuePair::Depths& depths,
                             const CmMessage::Bytes& data) const;

  CmListener listener_;
  const VerbsDevice* device_;
  const Self self_;
  Owner& owner_;
  std::vector<PeerEnds> ends_;  // By rank.
  Answerer answerers_[2];       // By Lane.
  uint32_t wanted_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_CM_CONNECTOR_H_
