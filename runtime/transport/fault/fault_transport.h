// A decorator that makes any transport behave as badly as the contract allows,
// from a seed: it delays the data movement itself, moves in any order that no
// fence forbids and in pieces, refuses posts, completes at once or late, breaks
// bulk lanes, and loses peers. Shared memory moves data at once, so that without
// this nothing above it is ever tested.
//
// Accepted operations wait in a bounded queue a peer, allocated at Connect, and
// are carried out through the inner transport by Post or Poll. Owns the inner
// transport. Threads: as transport.h says.
#ifndef WEFT_RUNTIME_TRANSPORT_FAULT_FAULT_TRANSPORT_H_
#define WEFT_RUNTIME_TRANSPORT_FAULT_FAULT_TRANSPORT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/transport/fault/fault_options.h"
#include "runtime/transport/fault/random.h"
#include "runtime/transport/transport.h"

namespace weft {

class FaultTransport final : public Transport {
 public:
  FaultTransport(std::unique_ptr<Transport> inner, const FaultOptions& options);

  const Caps& caps() const override { return caps_; }

  absl::StatusOr<std::unique_ptr<Registration>> Register(const Segment& segment) override;
  std::string Address() const override;
  absl::Status Connect(Rank peer, std::string_view address) override;
  absl::StatusOr<RemoteRegion> Import(Rank peer, std::string_view key) override;
  std::string WhyLost(Rank peer) override { return inner_->WhyLost(peer); }
  void Abandon(Rank peer, Lane lane) override;

  size_t Post(Rank peer, std::span<const Op> ops) override;
  size_t Poll(std::span<Event> events) override;
  Armed Arm() override;
  void Serve(Mutex& mutex, Deadline deadline) override;

 private:
  static constexpr unsigned kMaxPieces = 8;

  struct Entry {
    enum class State : uint8_t {
      kFree,
      kWaiting,  // Something of it is yet to be given to the inner transport.
      kMoving,   // The inner transport has all of it.
      kDone,     // Its event is yet to be told.
    };
    // Its data are not all there.
    bool undone() const { return state == State::kWaiting || state == State::kMoving; }

    Op op;
    State state = State::kFree;
    Event::Result result = Event::Result::kOk;
    bool ride_apart = false;  // Its ride is yet to be given, once all data are there.
    uint32_t generation = 0;
    uint32_t pieces = 1;
    uint32_t pieces_left = 0;  // One bit for each that is yet to be given.
    uint32_t under_way = 0;    // Those whose inner events are yet to come.
    uint64_t sequence = 0;
    uint64_t after = 0;  // Starts when all on its lane with a lower sequence are done.
    int64_t due = 0;     // When its data may move; when done, its event be told.
  };

  struct Peer {
    Rank rank = 0;
    bool down = false;
    bool tell_down = false;       // An Event is due for it.
    uint32_t tell_connected = 0;  // So many are.
    uint64_t next_sequence = 0;
    uint64_t fence[2] = {};  // By Lane: the sequence of the last fenced operation.
    // By Lane: how an operation without a token ended, which the next with one is to tell.
    Event::Result untold[2] = {};
    std::vector<Entry> entries;
  };

  Peer* Find(Rank rank) const { return rank < peers_.size() ? peers_[rank].get() : nullptr; }
  int64_t Delay();
  void Accept(Peer& peer, Entry& entry, const Op& op, int64_t now);
  // The lowest sequence on `lane` whose data are not all there.
  uint64_t OldestUndone(const Peer& peer, Lane lane) const;
  // Gives up to `most` pieces of an entry that may start to the inner transport.
  void Give(Peer& peer, Entry& entry, unsigned most);
  Op PieceOf(const Entry& entry, unsigned piece) const;
  void Done(Peer& peer, Entry& entry, Event::Result result, int64_t now);
  // Its movement is over. Without a token the next that has one tells of it.
  void End(Peer& peer, Entry& entry);
  // Whether an earlier operation, of which this one tells, is under way.
  bool AwaitsEarlier(const Peer& peer, const Entry& entry) const;
  void TakeInnerEvents(int64_t now);
  void OnInnerCompleted(Peer& peer, const Event& event, int64_t now);
  void MoveWhatIsDue(Peer& peer, int64_t now);
  size_t Tell(Peer& peer, std::span<Event> events, int64_t now);
  // What of `peer` (of its bulk lane) is not done ends as peer-down.
  void Drop(Peer& peer, Lane lane);

  const std::unique_ptr<Transport> inner_;
  const FaultOptions options_;
  Caps caps_;
  Random random_;
  bool refused_ = false;  // By chance, since the last Poll: worth another try at once.
  std::vector<std::unique_ptr<Peer>> peers_;  // By rank; null: not connected.
  std::vector<Peer*> connected_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_FAULT_FAULT_TRANSPORT_H_
