// The transport between ranks that share nothing but an IP network. A target need not call in: a
// thread of each rank (Serve) answers its peers while the program computes.
//
// A pair of ranks has up to four connections: each side's small operations, and each side's long
// transfers, with the replies to them; so nobody's operations wait behind another's, nor small ones
// behind long ones. They are made when they are first needed, and each begins with a proof from
// both sides (hello.h). What comes in over them carries an offset and a length, never an address.
//
// Whoever is in the library and polls carries out the peers' requests, too; the thread that
// serves sleeps meanwhile (socket_set.h).
//
// The NodeView must outlive it. Threads: as transport.h says.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_TCP_TRANSPORT_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_TCP_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/node_view.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/tcp/call.h"
#include "runtime/transport/tcp/event_queue.h"
#include "runtime/transport/tcp/greeting.h"
#include "runtime/transport/tcp/request_lane.h"
#include "runtime/transport/tcp/served_lane.h"
#include "runtime/transport/tcp/socket_set.h"
#include "runtime/transport/tcp/tcp_address.h"
#include "runtime/transport/tcp/tcp_options.h"
#include "runtime/transport/transport.h"

namespace weft {

class TcpTransport final : public Transport {
 public:
  // How many connections may be made to this rank at once whose other end is not known yet.
  static constexpr size_t kMaxMeeting = 64;

  // Errors say what this host lacks, and what to do.
  static absl::StatusOr<std::unique_ptr<TcpTransport>> Create(const TcpOptions& options,
                                                              const NodeView& node);
  ~TcpTransport() override;

  const Caps& caps() const override;

  absl::StatusOr<std::unique_ptr<Registration>> Register(const Segment& segment) override;
  std::string Address() const override;
  absl::Status Connect(Rank peer, std::string_view address) override;
  absl::StatusOr<RemoteRegion> Import(Rank peer, std::string_view key) override;
  std::string WhyLost(Rank peer) override;
  void Abandon(Rank peer, Lane lane) override;

  size_t Post(Rank peer, std::span<const Op> ops) override;
  size_t Poll(std::span<Event> events) override;
  Armed Arm() override;
  void Serve(Mutex& mutex, Deadline deadline) override;

 private:
  // What is said in one direction over one lane.
  struct Outgoing {
    explicit Outgoing(Rank peer) : requests(peer) {}
    RequestLane requests;
    std::unique_ptr<Call> call;
    uint32_t number = 0;      // Of the last call.
    bool active = false;      // Listed in active_.
    bool send_armed = false;  // The set tells when it takes more.
    // Finite once the connection has ended: when that is acted on, unless the bootstrap tells of
    // the peer's death before.
    Deadline parts;
  };
  struct Incoming {
    std::unique_ptr<ServedLane> served;
    uint32_t number = 0;  // Of the caller's connection that stands, or stood.
    bool blocked = false;
  };
  struct Peer {
    explicit Peer(Rank r) : rank(r) {}
    Outgoing& outgoing(Lane lane) { return lane == Lane::kSmall ? small : bulk; }
    Incoming& incoming(Lane lane) { return served[static_cast<size_t>(lane)]; }

    const Rank rank;
    std::vector<SocketAddress> listening;
    Outgoing small{rank};
    Outgoing bulk{rank};
    Incoming served[2];
    uint32_t connects = 0;  // That Poll has yet to tell of.
    bool gone = false;
    std::string why;
  };
  struct LaneOf {
    Peer* peer;
    Lane lane;
  };

  TcpTransport(const TcpOptions& options, const NodeView& node);

  // --- tcp_transport.cc ---
  Peer& PeerOf(Rank rank);
  void TellConnected(Peer& peer);
  void LosePeer(Peer& peer, std::string why);
  // The connection has ended, most likely because the peer's process has: the word of that, which
  // says more, is on its way.
  void PartFrom(const LaneOf& at);
  void StepParting();
  void End(Outgoing& outgoing);
  static SocketTag TagOf(const Peer& peer, Lane lane, SocketTag::Role role, int socket);

  // --- meet.cc ---
  absl::Status ListenOn(std::vector<SocketAddress> addresses);
  absl::Status StartCall(Peer& peer, Lane lane);
  void StepCalls();
  void Accept();
  // False where nobody new may be let in for now.
  bool AcceptFrom(int listening);
  void HearListening(bool hear);
  void StepMeetings();
  HelloRefusal Judge(const Hello& hello);
  void LetIn(Greeting& greeting);

  // --- pump.cc ---
  // Sends, receives and serves what can be now; whether anything came.
  bool Pump();
  bool WorkOnActive();
  // False: it is over with, for now.
  bool WorkOn(const LaneOf& at, bool receive, bool& any);
  bool ServeLane(Peer& peer, Lane lane);
  bool OnReady(const SocketTag& tag);
  // How long to look on, after something came, before sleeping.
  int64_t SpinNanos() const;

  const TcpOptions options_;
  const NodeView node_;
  std::unique_ptr<SocketSet> sockets_;
  std::vector<UniqueFd> listening_;
  std::vector<SocketAddress> addresses_;
  ServedMemory memory_;

  std::vector<std::unique_ptr<Peer>> peers_;  // By rank; null: nothing was said yet.
  std::vector<LaneOf> calling_;
  std::vector<LaneOf> parting_;
  std::vector<LaneOf> active_;  // With something to send or to hear.
  std::vector<Greeting> meeting_;
  bool hears_listening_ = true;
  Deadline hear_again_ = Deadline::AtMonotonicNanos(0);  // Where no descriptor was left.

  LaneOf hot_ = {nullptr, Lane::kSmall};  // That was served last.
  uint32_t pumps_ = 0;
  bool refused_ = false;  // A Post was short since the last Poll: who sleeps is to try again.
  EventQueue events_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_TCP_TRANSPORT_H_
