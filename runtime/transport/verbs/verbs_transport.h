// The transport over RDMA verbs: puts and gets are RDMA WRITE and READ, carried out
// by the devices of both sides while the target's processor does something else.
//
// Every pair of ranks has two reliable connected queue pairs, one a lane. Their
// numbers are exchanged through the addresses that the ranks publish, so all are
// made, and must be connected by both sides, before anything is posted.
//
// Threads: as transport.h says. One lock guards all; Serve takes it for moments,
// and sleeps without it.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_TRANSPORT_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_TRANSPORT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/mapping.h"
#include "runtime/base/node_view.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/verbs/address_blob.h"
#include "runtime/transport/verbs/arrivals.h"
#include "runtime/transport/verbs/device.h"
#include "runtime/transport/verbs/send_queue.h"
#include "runtime/transport/verbs/work_chain.h"

namespace weft {

class VerbsTransport final : public Transport {
 public:
  // Opens the port that `wanted` names (ChoosePort), and makes the queue pairs for
  // all ranks of `node`, whose doorbell and counters it raises.
  static absl::StatusOr<std::unique_ptr<VerbsTransport>> Create(const VerbsLibrary& library,
                                                                std::string_view wanted,
                                                                const NodeView& node);
  ~VerbsTransport() override;

  const Caps& caps() const override { return caps_; }

  absl::StatusOr<std::unique_ptr<Registration>> Register(const Segment& segment) override;
  std::string Address() const override;
  absl::Status Connect(Rank peer, std::string_view address) override;
  absl::StatusOr<RemoteRegion> Import(Rank peer, std::string_view key) override;
  void Abandon(Rank peer, Lane lane) override;

  size_t Post(Rank peer, std::span<const Op> ops) override;
  size_t Poll(std::span<Event> events) override;
  Armed Arm() override;
  void Serve(Deadline deadline) override;

 private:
  // Operations whose events Poll has not handed out yet.
  static constexpr uint32_t kMaxTokens = 8192;

  struct Peer {
    enum class State : uint8_t { kNew, kConnected, kGone };

    Peer(Rank r, SendQueue small, SendQueue bulk)
        : rank(r), queues{std::move(small), std::move(bulk)} {}
    SendQueue& queue(Lane lane) { return queues[static_cast<size_t>(lane)]; }

    const Rank rank;
    State state = State::kNew;
    SendQueue queues[2];       // By Lane.
    VerbsAddress::Pairs ours;  // As they were exchanged.

    // What Connect was told.
    RemotePort port;
    VerbsAddress::Pairs ends;
    uint64_t credit_address = 0;  // Of the word by which it reads what we took in.
    uint32_t credit_key = 0;

    // Of immediates, on one lane.
    struct Credits {
      uint64_t sent = 0;
      uint64_t taken = 0;     // That it sent us.
      uint64_t returned = 0;  // Of those.
      bool due() const { return taken - returned >= Arrivals::kCredits / 2; }
    };
    Credits credits[2];  // By Lane.

    // When an operation on the bulk lane is cut off, its queue pair is replaced, and the
    // peer asked to connect to the new one, by its number. It replaces its own, too, and
    // answers with that one's number: until then the lane takes nothing.
    enum class Due : uint8_t { kNothing, kAsk, kAnswer };
    bool bulk_open = true;
    bool awaits_answer = false;
    Due due = Due::kNothing;  // What the peer is yet to be told: there was no room.
    uint32_t far_number = 0;  // Of the pair that ours was last connected anew to.
    bool broken[2] = {};      // By Lane: an operation failed there; see MendBroken.
  };

  VerbsTransport(std::shared_ptr<const VerbsDevice> device, const NodeView& node);

  absl::Status MakeQueues();
  absl::StatusOr<QueuePair> MakePair();
  absl::Status CheckRank(Rank peer) const;

  // All below are called with the lock held.
  size_t PostRun(Peer& peer, Lane lane, std::span<const Op> ops);
  bool MayTake(const Peer& peer, const SendQueue& queue, size_t chained, const Op& op) const;
  // Posts `chain`, whose requests were pushed already. False: the lane broke.
  bool PostChain(Peer& peer, Lane lane, WorkChain& chain);
  WorkChain::Local Scratch() const;
  // By which the peer tells how many of our immediates it has taken in.
  std::atomic<uint64_t>& CreditWord(Rank peer, Lane lane) const;
  size_t CreditBytes() const { return node_.size * 2 * sizeof(uint64_t); }

  // Takes in what was sent, and only notes which lanes broke: MendBroken does the rest,
  // since that waits for completions, which must be taken in their order.
  void ReapSent();
  void OnSent(const ibv_wc& completion);
  void MendBroken();
  void TakeArrivals();
  void OnArrival(Peer& peer, const Arrivals::Arrival& arrival);
  // What found no room before, if anything.
  void SendAllDue();
  void SendDue(Peer& peer);
  bool SendImmediate(Peer& peer, const Immediate& immediate);
  bool ReturnCredits(Peer& peer, Lane lane);

  // Ends all that is under way on the lane, and its queue pair.
  void EndLane(Peer& peer, Lane lane);
  void LosePeer(Peer& peer);
  void BreakBulk(Peer& peer);
  // Replaces the queue pair; false: that failed, and the peer is lost.
  bool RenewBulk(Peer& peer);
  void OnAskBulk(Peer& peer, uint32_t number);
  // Connects our new pair to the peer's, that with `number`.
  void OpenBulk(Peer& peer, uint32_t number);

  void End(Rank peer, uint64_t token, Event::Result result);
  void Tell(const Event& event) { ready_.push_back(event); }

  const std::shared_ptr<const VerbsDevice> device_;  // Shared with the registrations.
  const NodeView node_;
  Caps caps_;
  uint32_t depth_ = 0;          // Of each queue pair.
  uint32_t max_under_way_ = 0;  // Of all together: what the completion queue holds.

  // Two words a peer, one a lane, that it returns our credits in; one for values nobody wants.
  Mapping words_;
  std::unique_ptr<RegionHandle> words_region_;

  CompletionQueueHandle sent_;
  std::unique_ptr<Arrivals> arrivals_;
  std::vector<std::unique_ptr<Peer>> peers_;

  std::mutex mutex_;
  uint32_t under_way_ = 0;  // Requests of all queue pairs.
  uint32_t tokens_ = 0;     // Taken by Post and not handed out by Poll.
  std::vector<Event> ready_;
  size_t ready_first_ = 0;
  bool refused_ = false;             // Post has, since the last Poll.
  bool any_broken_ = false;          // Some peer's lane is.
  bool any_due_ = false;             // Something may be due to a peer.
  std::atomic<uint64_t> polls_ = 0;  // Tells Serve that somebody else takes arrivals in.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_TRANSPORT_H_
