// The transport over RDMA verbs: puts and gets are RDMA WRITE and READ, carried out
// by the devices of both sides while the target's processor does something else.
//
// Every pair of ranks has two reliable connected queue pairs, one a lane. Either their
// numbers are exchanged through the addresses that the ranks publish: then all are
// made, and must be connected by both sides, before anything is posted. Or librdmacm
// connects each when it is first needed (cm_connector.h). Setting up and waiting are in
// verbs_transport.cc, the rest in send.cc, receive.cc, lanes.cc, connect.cc and failure.cc.
//
// Threads: as transport.h says. Serve sleeps without the lock.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_TRANSPORT_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_TRANSPORT_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/base/mapping.h"
#include "runtime/base/node_view.h"
#include "runtime/transport/address.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/verbs/arrivals.h"
#include "runtime/transport/verbs/cm_connector.h"
#include "runtime/transport/verbs/device.h"
#include "runtime/transport/verbs/dialect.h"
#include "runtime/transport/verbs/peer.h"
#include "runtime/transport/verbs/verbs_options.h"
#include "runtime/transport/verbs/work_chain.h"

namespace weft {

class VerbsTransport final : public Transport, private CmConnector::Owner {
 public:
  // Opens the port that `options` name, and makes what it takes to connect to the ranks of
  // `node`, whose doorbell and counters it raises, and on whose memory it carries atomics out.
  static absl::StatusOr<std::unique_ptr<VerbsTransport>> Create(const VerbsLibrary& library,
                                                                const VerbsOptions& options,
                                                                const NodeView& node);
  ~VerbsTransport() override;

  const Caps& caps() const override { return caps_; }

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
  // Operations whose events Poll has not handed out yet.
  static constexpr uint32_t kMaxTokens = 8192;

  VerbsTransport(std::shared_ptr<const VerbsDevice> device, const Dialect& dialect,
                 const NodeView& node);

  // `listener`: connections are made by librdmacm, from there.
  absl::Status MakeQueues(std::optional<CmListener> listener, const JobSecret& secret);
  absl::Status ExchangePairs();
  absl::StatusOr<QueuePair> MakePair();
  absl::Status CheckRank(Rank peer) const;
  absl::Status CheckAddress(Rank rank, const VerbsAddress& address) const;

  // --- send.cc ---
  // Whether the lane takes a plain operation now, behind a chain that is not yet posted.
  bool HasRoomForPlain(const VerbsPeer::LaneEnd& end, uint32_t chained) const;
  // Whether `op` is good, one request, and waits for nothing, where nothing is to be proved.
  bool IsPlain(const VerbsPeer& peer, Lane lane, const Op& op) const;
  // Likewise, of one with an immediate that counts.
  bool IsPlainCount(const VerbsPeer& peer, const Op& op) const;
  // Posts a plain one, which counts or not: all that most posts are.
  void PostPlain(VerbsPeer& peer, Lane lane, const Op& op, bool counts);
  // Likewise, of one that counts; apart, so that others do not pay for it.
  void PostCount(VerbsPeer& peer, Lane lane, const Op& op);
  size_t PostMany(VerbsPeer& peer, Lane lane, std::span<const Op> ops);
  // Adds what may start of `ops`, to the first that may not.
  size_t AddAny(VerbsPeer& peer, Lane lane, std::span<const Op> ops, WorkChain& chain);
  // kOk, or how `op` ends without being started.
  Event::Result Check(const VerbsPeer& peer, const Op& op) const;
  // Whether it is a request to the peer's agent, which replies.
  bool IsRequest(const Op& op) const;
  // For `requests` more, behind those of a chain that is not yet posted.
  bool HasRoom(const SendQueue& queue, size_t chained, size_t requests) const;
  // Whether no fence, and no lack of credits, holds it up.
  bool MayStart(VerbsPeer& peer, const Op& op);
  // Whether the peer has a receive for one more message on that lane.
  bool HasCredit(const VerbsPeer& peer, Lane lane) const;
  // Whether a fenced operation may start; where the device does not see to it.
  bool MayStartBehind(const VerbsPeer& peer, VerbsPeer::LaneEnd& lane) const;
  // Posts `chain`, whose requests were pushed already. False: the lane broke.
  bool PostChain(VerbsPeer& peer, Lane lane, WorkChain& chain);
  void OnRefused(VerbsPeer& peer, Lane lane, const ibv_send_wr* refused);
  // Posts the `requests` that `add` makes, on the small lane. False: there is no room, or
  // the lane broke.
  bool SendOurs(VerbsPeer& peer, size_t requests, absl::FunctionRef<void(WorkChain&)> add);
  // By which the peer tells how many of our immediates it has taken in.
  std::atomic<uint64_t>& CreditWord(Rank peer, Lane lane) const;
  size_t CreditBytes() const { return node_.size * 2 * sizeof(uint64_t); }
  // Takes in what was sent, and only notes which lanes broke: MendBroken does the rest,
  // since that waits for completions, which must be taken in their order.
  // True: there may be more.
  [[gnu::always_inline]] bool ReapSent() {
    constexpr int kBatch = 32;
    ibv_wc completions[kBatch];
    const int n = device_->library().poll_cq(sent_.get(), kBatch, completions);
    for (int i = 0; i < n; ++i) OnSent(completions[i]);
    return n == kBatch;
  }
  [[gnu::always_inline]] void OnSent(const ibv_wc& completion) {
    const auto owner = static_cast<uint32_t>(completion.wr_id >> 32);
    VerbsPeer& peer = *peers_[owner >> 1];
    VerbsPeer::LaneEnd& end = peer.lanes[owner & 1];
    const uint32_t over = end.queue.Advance(static_cast<uint32_t>(completion.wr_id));
    if (over == 0) return;
    under_way_ -= over;
    if (completion.status != IBV_WC_SUCCESS) [[unlikely]] {
      return OnSendFailed(peer, static_cast<Lane>(owner & 1), completion);
    }
    end.passed = true;
    while (const SendQueue::Mark* mark = end.queue.Ended()) {
      EndMark(peer, *mark, Event::Result::kOk);
    }
  }
  void OnSendFailed(VerbsPeer& peer, Lane lane, const ibv_wc& completion);
  // Ends what a request on the peer's queues stands for.
  void EndMark(VerbsPeer& peer, const SendQueue::Mark& mark, Event::Result result) {
    if (mark.request == 0) [[likely]] {
      End(peer.rank, mark.token, result);
    } else {
      OnRequestSent(peer, mark.request, result);
    }
  }
  void OnRequestSent(VerbsPeer& peer, uint32_t request, Event::Result result);
  void EndRequest(VerbsPeer& peer, uint64_t token, Event::Result result);
  void End(Rank peer, uint64_t token, Event::Result result) {
    if (token != 0) Tell({.token = token, .peer = peer, .result = result});
  }
  // Fills a prefix of `events` with what is in ready_.
  size_t TakeReady(std::span<Event> events);
  // To Poll's caller, or the next one's.
  void Tell(const Event& event) {
    if (told_ == told_end_) [[unlikely]] {
      return ready_.push_back(event);
    }
    *told_++ = event;
    tokens_ -= event.kind == Event::Kind::kCompleted;
  }

  // --- receive.cc ---
  // And mends what broke.
  void TakeArrivalsAndAnswer() {
    TakeArrivals();
    if (any_due_) AnswerAll();
    if (any_broken_) MendBroken();
  }
  void AnswerAll();
  void TakeArrivals() {
    if (arrivals_->Look()) TakeIn();
  }
  void TakeIn();
  void OnArrival(VerbsPeer& peer, const Arrivals::Arrival& arrival);
  // Credits, replies, questions and answers; what finds no room is due again.
  void SendDue(VerbsPeer& peer);
  bool SendReplies(VerbsPeer& peer);

  // --- failure.cc ---
  // The lane failed, and is mended, or its peer lost, at the next MendBroken.
  void Break(VerbsPeer& peer, Lane lane, Loss loss);
  void TakeAsyncEvents();
  void LoseAll(Loss loss);
  // Whoever sleeps in this rank is to Poll: there are events that this thread came upon.
  void WakePollers();

  // --- lanes.cc ---
  void MendBroken();
  // Ends all that is under way on the lane, and its queue pair.
  void EndLane(VerbsPeer& peer, Lane lane);
  void LosePeer(VerbsPeer& peer, Loss loss);
  void BreakBulk(VerbsPeer& peer);
  // Replaces the queue pair; false: that failed, and the peer is lost.
  bool RenewBulk(VerbsPeer& peer);
  void OnAskBulk(VerbsPeer& peer, uint32_t number);
  // Connects our new pair to the peer's, that with `number`.
  void OpenBulk(VerbsPeer& peer, uint32_t number);

  // --- connect.cc ---
  absl::StatusOr<QueuePair> MakePair(Rank peer, Lane lane) override;
  void DropPair(QueuePair pair) override;
  bool OnRequest(const CmMessage& request) override;
  void OnOpen(Rank peer, Lane lane, QueuePair pair, uint32_t number) override;
  void OnClosed(Rank peer, Lane lane) override;
  void OnFailed(Rank peer, Lane lane, const absl::Status& why) override;
  void CloseLane(VerbsPeer& peer, Lane lane);

  const std::shared_ptr<const VerbsDevice> device_;  // Shared with the registrations.
  const Dialect dialect_;
  const NodeView node_;
  Caps caps_;
  uint32_t depth_ = 0;          // Of each queue pair.
  uint32_t max_under_way_ = 0;  // Of all together: what the completion queue holds.

  // Two words a peer, one a lane, that it returns our credits in; one for values nobody wants.
  Mapping words_;
  std::unique_ptr<RegionHandle> words_region_;
  WorkChain::Setup setup_;  // Of all chains.

  CompletionQueueHandle sent_;
  std::unique_ptr<Arrivals> arrivals_;
  std::vector<std::unique_ptr<VerbsPeer>> peers_;

  uint32_t under_way_ = 0;   // Requests of all queue pairs.
  uint32_t unanswered_ = 0;  // Requests to all peers' agents.
  uint32_t tokens_ = 0;      // Taken by Post and not handed out by Poll.
  // The rest of what Poll may tell its caller; empty while nobody polls.
  Event* told_ = nullptr;
  Event* told_end_ = nullptr;
  std::vector<Event> ready_;  // What nobody was told of yet, from ready_first_ on.
  size_t ready_first_ = 0;
  bool refused_ = false;      // Post has, since the last Poll.
  bool any_broken_ = false;   // Some peer's lane is.
  bool any_due_ = false;      // Something may be due to a peer.
  bool device_lost_ = false;  // It neither tells of anything any more, nor wakes.
  uint64_t polls_ = 0;
  std::atomic<uint64_t> looks_ = 0;  // Tells Serve that somebody else takes arrivals in.
  uint64_t seen_looks_ = 0;          // Serve's.

  std::unique_ptr<CmConnector> connector_;  // Null: queue pairs were exchanged.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_TRANSPORT_H_
