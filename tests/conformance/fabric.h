// Where the conformance cases run: a Fabric says over which transport, and
// whether ranks are threads of this process or forked processes. A case is one
// program that every rank runs (SPMD), given what a rank has: its transport or
// its Engine, and a way to meet the others that is not under test.
//
// Adding a transport is one line in BareFabrics(). WEFT_CONFORMANCE=verbs runs all on RDMA
// devices, in the place of shared memory: on those that RDMA_DEVICES names, in turn. A rank that
// ends with a failed assertion stops the others at their next Meet, so that nothing hangs.
#ifndef WEFT_TESTS_CONFORMANCE_FABRIC_H_
#define WEFT_TESTS_CONFORMANCE_FABRIC_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/node_view.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/service_thread.h"
#include "runtime/transport/fault/fault_options.h"
#include "runtime/transport/transport.h"
#include "tests/support/locked_transport.h"

namespace weft {

class TestNode;

struct Fabric {
  using MakeTransport = std::function<std::unique_ptr<Transport>(const NodeView&)>;

  std::string name;  // Of letters and digits only.
  MakeTransport make;
  bool processes = false;
  bool tears_two_bytes = false;  // Soft devices copy them one by one.
  bool bare = true;              // Neither a fault decorator nor an emulated device: all is fast.

  // The same ranks over the same transport, but made worse like this.
  Fabric With(const FaultOptions& options) const;
  friend std::ostream& operator<<(std::ostream& os, const Fabric& fabric) {
    return os << fabric.name;
  }
};

// Every transport, bare and under the fault decorator with fixed seeds (and
// WEFT_SEEDS=n more), with ranks as threads and as processes.
std::vector<Fabric> Fabrics();
// The bare ones only.
std::vector<Fabric> BareFabrics();

// Memory that all ranks of a run share, threads or processes.
struct Board {
  static constexpr Rank kMaxRanks = 16;
  struct Card {
    char bytes[3][512];
    size_t length[3];
  };
  Card cards[kMaxRanks];
  std::atomic<uint32_t> arrived;
  std::atomic<uint32_t> generation;
  std::atomic<bool> failed;
  std::atomic<bool> died[kMaxRanks];  // By its own Die.
  std::atomic<bool> over[kMaxRanks];  // Its program is.
  std::atomic<uint64_t> words[64];    // For the case's use.
};

// Ends the calling rank's program.
struct RankStopped {};

// What every rank has.
class RankBase {
 public:
  RankBase(const Fabric& fabric, TestNode& node, std::mutex& authority_mutex, Board& board,
           Rank rank);

  Rank rank() const { return node_.rank; }
  Rank size() const { return node_.size; }
  const NodeView& node() const { return node_; }
  // This rank's own.
  std::byte* slab() const { return node_.slab(node_.rank); }
  std::atomic<uint64_t>& counter(uint32_t id) const {
    return node_.control(node_.rank).counters[id].arrivals;
  }

  // Waits until all ranks have come here; throws RankStopped if one has failed.
  void Meet();
  // Memory of all ranks, zero at first.
  std::atomic<uint64_t>& word(size_t index) { return board_.words[index]; }
  // Polls `done`; throws RankStopped if a rank has failed or after two minutes.
  void WaitFor(const std::function<bool()>& done);
  // Waits until the programs of all that live are over: only then may what the others
  // reach be taken from them.
  void End();
  // This rank dies: as a process by SIGKILL, as a thread by the membership alone.
  [[noreturn]] void Die();

 protected:
  // Makes the transport, registers this rank's segments, and tells the others.
  std::unique_ptr<Transport> MakeTransport();
  PeerCard CardOf(Rank rank) const;
  // This rank's segments, as its transport has registered them.
  std::vector<Engine::RegisteredMemory> registered() const;

 private:
  const Fabric& fabric_;
  TestNode& test_node_;
  std::mutex& authority_mutex_;
  Board& board_;
  const NodeView node_;
  std::vector<std::unique_ptr<Registration>> registrations_;  // Of the slab and the control region.
};

// A rank that uses the bare Transport; connected to all.
class TransportRank : public RankBase {
 public:
  template <typename... Args>
  explicit TransportRank(Args&&... args) : RankBase(std::forward<Args>(args)...) {
    Connect();
  }

  Transport& transport() { return *transport_; }
  const RemoteRegion& slab_of(Rank peer) const { return slabs_[peer]; }
  const RemoteRegion& control_of(Rank peer) const { return controls_[peer]; }

  // Connects once more, and waits for it.
  void ConnectAgain(Rank peer);
  // Posts, having registered the local memory where the transport needs that; false: the
  // peer is full.
  bool TryPost(Rank peer, Op op);
  // Posts, polling while the peer is full.
  void Post(Rank peer, const Op& op);
  // Polls, and keeps the events.
  void Poll();
  // The result of the op with that token, once it is there; forgets it.
  Event::Result Wait(uint64_t token);
  Event::Result Run(Rank peer, Op op);
  std::vector<Event>& events() { return events_; }

 private:
  void Connect();
  uint32_t LocalKey(void* memory, uint64_t length);

  std::unique_ptr<LockedTransport> transport_;
  std::map<uintptr_t, std::unique_ptr<Registration>> local_;  // By page; and its length.
  std::map<uintptr_t, uint64_t> length_;
  std::vector<std::unique_ptr<Registration>> former_;
  std::optional<ServiceThread> service_;
  std::vector<RemoteRegion> slabs_;
  std::vector<RemoteRegion> controls_;
  std::vector<Event> events_;  // Completions that nobody waited for yet.
  uint32_t connected_ = 0;     // How many such events there were.
  uint64_t next_token_ = uint64_t{1} << 40;
};

// A rank that uses the Engine.
class EngineRank : public RankBase {
 public:
  template <typename... Args>
  explicit EngineRank(Args&&... args) : RankBase(std::forward<Args>(args)...) {
    MakeEngine();
  }

  Engine& engine() { return *engine_; }
  // Whether memory that is not registered goes through the Engine's own.
  bool bounces() const { return bounces_; }
  // Long enough for anything that works, on any machine.
  static Deadline Soon() { return Deadline::After(absl::Seconds(100)); }
  absl::Status Put(Rank peer, uint64_t offset, const void* source, uint64_t length);
  absl::Status Get(Rank peer, uint64_t offset, void* destination, uint64_t length);

 private:
  void MakeEngine();

  std::unique_ptr<Engine> engine_;
  bool bounces_ = false;
};

// Runs `program` on `size` ranks with slabs of `slab_bytes`, and fails the
// current test when it fails on any.
void RunOnTransports(const Fabric& fabric, Rank size, uint64_t slab_bytes,
                     const std::function<void(TransportRank&)>& program);
void RunOnEngines(const Fabric& fabric, Rank size, uint64_t slab_bytes,
                  const std::function<void(EngineRank&)>& program);

// Bytes that tell where they come from, and a sum that tells whether they are all there.
void FillPattern(void* memory, size_t bytes, uint64_t seed);
uint64_t Checksum(const void* memory, size_t bytes);
// Whether each of them is `value`.
bool AllBytesAre(std::byte value, const void* memory, size_t bytes);

}  // namespace weft
#endif  // WEFT_TESTS_CONFORMANCE_FABRIC_H_
