// The Engine's inside, spread over engine.cc (start, finish), connect.cc, status.cc (what is
// said of an operation), registered.cc (memory that need not be staged), progress.cc (post,
// events, deaths), short_cuts.cc (what most operations need no more of) and flush.cc.
//
// One mutex guards everything that is not atomic. A thread that waits polls
// under the mutex and sleeps without it, on this rank's doorbell, which whoever
// completes an operation rings.
#ifndef WEFT_RUNTIME_ENGINE_ENGINE_IMPL_H_
#define WEFT_RUNTIME_ENGINE_ENGINE_IMPL_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/base/mutex.h"
#include "runtime/base/waiter.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/errors.h"
#include "runtime/engine/ledger.h"
#include "runtime/engine/service_thread.h"
#include "runtime/engine/staging.h"
#include "runtime/transport/address.h"

namespace weft {

class Engine::Impl {
 public:
  Impl(std::unique_ptr<Transport> transport, const NodeView& node, Directory directory,
       const std::vector<RegisteredMemory>& registered);
  ~Impl();

  absl::Status ConnectAll(Deadline deadline);
  absl::StatusOr<Handle> Start(const Request& request, WaitLimit limit);
  bool Done(Handle handle);
  absl::Status Finish(Handle handle, Deadline deadline);
  absl::Status Run(const Request& request, const WaitLimit& limit);
  void Post(const Request& request, const WaitLimit& limit);
  void PostShort(Rank peer, uint64_t offset, const void* source, uint64_t length,
                 const WaitLimit& limit);
  absl::Status Register(std::span<std::byte> memory);
  void Unregister(std::span<const std::byte> memory, Deadline deadline);
  void RecordError(Rank peer, absl::Status status);
  void Fence(Rank peer);
  void Settle(Rank peer, Deadline deadline);
  absl::Status Flush(Rank peer, Deadline deadline);
  absl::Status FlushAll(Deadline deadline);
  void Progress();
  void OnLost(std::function<void(Rank, std::string_view)> lost) { lost_ = std::move(lost); }
  void AbandonDead();
  const std::atomic<uint32_t>& unsettled() const { return unsettled_; }

 private:
  static constexpr uint32_t kLedgerCapacity = 4096;
  static constexpr uint32_t kAnyError = uint32_t{1} << 31;
  static constexpr size_t kBurst = 16;   // Operations in one Post.
  static constexpr size_t kEvents = 64;  // Events in one Poll.
  using Lock = std::unique_lock<Mutex>;

  // What a peer's operations hold. None may hold more than half of anything, so
  // that one that takes nothing leaves room for the others.
  struct Usage {
    uint32_t slots = 0;
    uint32_t small_buffers = 0;  // Or large ones in their place.
    uint32_t large_buffers = 0;
    uint32_t bounce_buffers = 0;
  };

  // Puts of up to a word that were posted to a peer, and go together: one slot, one doorbell, one
  // completion. The slot's buffer holds their values.
  struct HeldPuts {
    Slot* slot = nullptr;  // Null: there are none.
    bool open = false;     // More may follow: no fence has come, and nothing was handed over.
    Op ops[kBurst];
  };

  // A rank that this one has operated on.
  struct Peer {
    enum class State : uint8_t { kNew, kLookingUp, kConnecting, kConnected };

    explicit Peer(Rank r) : rank(r) {
      for (Op& op : held.ops) op.region = &slab;
    }
    LaneQueue& queue(Lane lane) { return queues[static_cast<size_t>(lane)]; }

    const Rank rank;
    State state = State::kNew;
    bool gone = false;        // Dead, or lost by the transport: for good.
    bool in_backlog = false;  // Listed in backlog_.
    RemoteRegion slab;
    RemoteRegion control;
    LaneQueue queues[2];  // By Lane.
    Usage usage;
    uint32_t emulated = 0;       // Atomics under way that take several steps.
    uint64_t next_sequence = 0;  // Of the operations.
    uint64_t fence = 0;          // The sequence at the last Fence.
    bool fence_due[2] = {};      // By Lane: nothing was issued since that Fence.
    HeldPuts held;
  };

  // What Register added has its registration here.
  struct Registered {
    RegisteredMemory memory;
    std::unique_ptr<Registration> registration;
  };

  // --- engine.cc ---
  absl::StatusOr<uint32_t> Issue(Lock& lock, const Request& request, bool posted, WaitLimit& limit);
  // Issue of a plain operation for which there is room; kNone: it needs more than that.
  uint32_t TryIssue(const Request& request, bool posted);
  void Enqueue(Peer& peer, uint32_t index, const Request& request, bool posted);
  void AddToBacklog(Peer& peer);
  // What Run does if RunAlone has not done it; `index`: the slot that has it, or kNone.
  absl::Status RunAmongOthers(Lock& lock, const Request& request, WaitLimit limit, uint32_t index);
  void PostLocked(Lock& lock, const Request& request, WaitLimit limit);
  // Finish of a slot whose caller is here.
  absl::Status FinishSlot(Lock& lock, uint32_t index, WaitLimit& limit);
  // A slot, and `staged` bytes of runtime memory for it.
  bool Reserve(Peer& peer, uint64_t staged, uint32_t* index);
  uint64_t StagedBytes(const Request& request) const {
    return NeedsStaging(request) ? request.length : 0;
  }
  // Reserve's end: the slot, with that memory.
  uint32_t TakeSlot(Peer& peer, std::byte* staged);
  // The slot's place among the peer's operations.
  void Number(Slot& slot, Peer& peer, Lane lane);
  void Fill(Slot& slot, Peer& peer, const Request& request);
  // Whether a small operation's memory must be a buffer of the pool.
  bool NeedsStaging(const Request& request) const;

  // --- short_cuts.cc ---
  // Carries out an operation that is not held back, if it needs no more than that: nothing else
  // is under way to its peer, and it is over at the first look. False: `index` is its slot, it
  // goes on like others; or kNone, and nothing was done.
  bool RunAlone(const Request& request, bool posted, uint32_t* index);
  // The slot of an operation that was handed over already, with what the next one has.
  uint32_t Admit(Peer& peer, const Op& op, void* destination);
  // Holds a posted put back, to go with those that were before. False: it cannot be.
  bool Hold(Rank rank, uint64_t offset, const void* source, uint64_t length);
  // Begins to hold puts to that peer; false: it cannot be.
  bool OpenHeld(Peer& peer);
  // Hands those with the slot `index` over; false: not all.
  bool PostHeld(Peer& peer, uint32_t index);

  // --- connect.cc ---
  Peer& PeerOf(Rank rank) { return peers_[rank] != nullptr ? *peers_[rank] : AddPeer(rank); }
  Peer& AddPeer(Rank rank);
  absl::Status EnsureConnected(Lock& lock, Peer& peer, WaitLimit& limit);
  absl::Status Introduce(Peer& peer, const PeerCard& card);

  // --- status.cc ---
  // The peer of an operation in which the checks below are sure to find nothing, as in most; or
  // null.
  Peer* PeerOfPlain(const Request& request) const {
    if (request.peer >= node_.size || peers_[request.peer] == nullptr) return nullptr;
    Peer& peer = *peers_[request.peer];
    if (peer.state != Peer::State::kConnected || peer.gone || IsDead(peer.rank) ||
        request.segment != Segment::Kind::kSlab ||
        !InBounds(request.offset, request.length, peer.slab.length)) {
      return nullptr;
    }
    if (request.kind == Op::Kind::kPut) {
      const bool rides = request.ride == Ride::kNone ||
                         (request.ride == Ride::kCounter && request.operand < kMaxCounters);
      return rides && request.source != nullptr ? &peer : nullptr;
    }
    if (request.ride != Ride::kNone) return nullptr;
    if (request.kind == Op::Kind::kGet) return request.destination != nullptr ? &peer : nullptr;
    return request.length == 8 && request.offset % 8 == 0 ? &peer : nullptr;
  }
  absl::Status Check(const Request& request) const;
  absl::Status CheckAddress(const Peer& peer, const Request& request) const;
  // What became of a finished operation.
  absl::Status Outcome(const Slot& slot) const;
  absl::Status LateError(const Slot& slot) const;

  // --- registered.cc ---
  // The key of registered memory that holds all of it; nullopt: it is not registered.
  std::optional<uint32_t> LocalKey(const void* memory, uint64_t length) const;
  // The caller's memory is not touched for that operation any more; one on the bulk lane ends,
  // and with it all that are under way there.
  void CutOff(uint32_t index);

  // --- progress.cc ---
  // Waits until ready(), which is called with the lock held, returns true (then
  // true, and the lock was not released in between), or until `deadline`.
  bool Await(Lock& lock, Deadline deadline, absl::FunctionRef<bool()> ready);
  // Whether such a posted operation may go with those that follow it, 1 ms later at the most.
  static bool IsHoldable(const Request& request);
  // Called by the service thread: sends what is held. Whether it must be called again in 1 ms.
  bool SendHeld();
  // When the transport wants to be polled next.
  Deadline NextPoll();
  // Whether the last poll told of something: only one that does not is sure to have taken in all
  // that had arrived before.
  bool ProgressLocked();
  // Hand over what may start; whether the transport took any of it.
  bool PostBacklog();
  bool PostPeer(Peer& peer);
  bool PostLane(Peer& peer, Lane lane);
  bool HasUnposted(Peer& peer);
  bool MayStart(Peer& peer, Lane lane, const Slot& slot);
  // The sequence of the oldest atomic that takes several steps; UINT64_MAX if there is none.
  uint64_t OldestEmulated(Peer& peer);
  // Makes the next piece of an operation whose memory is not registered; false: no buffer.
  bool Bounce(Peer& peer, uint32_t whole, Op& piece);
  // A piece is over: its slot goes, and its operation's is returned.
  uint32_t EndPiece(uint32_t index, Event::Result result);
  void FreePiece(uint32_t index);
  // An emulated atomic has another step to take.
  void HandOverAgain(Peer& peer, uint32_t index);
  bool PollEvents();
  void OnEvent(const Event& event);
  void OnCompleted(const Event& event);
  void OnMembershipChange();
  void PeerGone(Peer& peer);
  // No more of that operation is handed over.
  void StopHandingOver(Peer& peer, uint32_t index);
  // Likewise, and so it ends when nothing of it is under way any more.
  void EndEarly(Peer& peer, uint32_t index, End end);
  void Complete(Peer& peer, uint32_t index);
  // Its caller has been told that it is late; its memory is not touched any
  // more, given that its lane is abandoned if it is under way on the bulk lane.
  void GiveUp(Peer& peer, uint32_t index);
  void CopyResult(const Slot& slot);
  void Release(uint32_t index);
  void Record(Rank peer, absl::Status status);
  void UpdateUnsettled();
  bool IsDead(Rank rank) const {
    return node_.membership->state[rank].load(std::memory_order_acquire) == MemberState::kDead;
  }
  // Why `peer`, which is gone, cannot be reached.
  absl::Status GoneError(Rank peer, std::string_view what) const;

  // --- flush.cc ---
  // Waits until all earlier operations to `peer` are over; false: it is late, and abandons
  // what was posted.
  bool SettleLocked(Lock& lock, Rank peer, Deadline deadline);
  absl::Status Report(Rank peer);
  // Whether all operations to `peer` before `sequence` are over.
  bool Flushed(Peer& peer, uint64_t sequence);
  // The flush up to `sequence` is late.
  void AbandonPosts(Peer& peer, uint64_t sequence);
  // What a flush that is late reports.
  absl::Status ReportLate(Rank peer);

  const std::unique_ptr<Transport> transport_;
  const Transport::Caps& caps_;
  const NodeView node_;
  const Directory directory_;
  const int spins_;  // Before a wait yields.

  // ledger_.in_use(), and kAnyError once a flush may have to report one: for a look without the
  // lock.
  std::atomic<uint32_t> unsettled_ = 0;
  Waiter waiter_;

  Mutex mutex_;
  Ledger ledger_{kLedgerCapacity};
  StagingPool staging_;
  std::vector<Registered> registered_;
  ErrorLog errors_;
  std::vector<std::unique_ptr<Peer>> peers_;  // By rank; null: never operated on.
  std::vector<Peer*> used_;
  std::vector<Peer*> backlog_;  // Those with operations that are not handed over.
  uint32_t seen_changes_ = 0;   // Of the membership.
  std::function<void(Rank, std::string_view)> lost_;
  bool any_error_ = false;  // A peer is gone, or errors_ ever got one.
  bool completed_ = false;  // Something was, since waiters were last told.
  // While this rank posts, the service thread looks every 1 ms, and posted operations are held
  // back to be handed over together: one doorbell, and one completion, for all. Cleared with
  // the lock held only, so that nothing is held that the thread does not look for.
  std::atomic<bool> may_hold_ = false;
  bool posted_ = false;  // Since the service thread has looked.
  uint32_t held_ = 0;    // Since something was handed over.

  // What PostLane and PollEvents write before they read it: clearing as much anew each time
  // takes longer than a put.
  Op burst_[kBurst];
  Event events_[kEvents];

  std::optional<ServiceThread> service_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_ENGINE_ENGINE_IMPL_H_
