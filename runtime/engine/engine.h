// The Engine: every operation that is not inlined, over one transport.
//
// It connects to peers when they are first needed, keeps the ledger of
// outstanding operations, holds back what a full peer or a fence does not let
// start, stages what must outlive a deadline, ends operations at their
// deadlines, and keeps the errors of posted operations until Flush.
//
// Threads: any thread may call; one lock guards the transport and the ledger.
// Calls that wait poll the transport while they do.
#ifndef WEFT_RUNTIME_ENGINE_ENGINE_H_
#define WEFT_RUNTIME_ENGINE_ENGINE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/deadline.h"
#include "runtime/base/node_view.h"
#include "runtime/transport/transport.h"
#include "weft/rank.h"

namespace weft {

// What a peer published: how to connect to it, and the keys of its segments.
struct PeerCard {
  std::string address;
  std::string slab_key;
  std::string control_key;
};

// Up to this many bytes a put's source and a get's result are copied through
// runtime memory, so that a late operation never touches the caller's; longer
// ones move straight between the caller's memory and the peer, on the bulk lane.
inline constexpr uint64_t kMaxStagedBytes = 16 * 1024;

class Engine {
 public:
  // An operation under way. Each must be finished exactly once.
  struct Handle {
    uint32_t slot = 0;
    uint32_t generation = 0;
  };

  // One operation on `peer`. Its fields are those of Op.
  struct Request {
    Op::Kind kind = Op::Kind::kPut;
    Ride ride = Ride::kNone;
    Segment::Kind segment = Segment::Kind::kSlab;
    Rank peer = 0;
    uint64_t offset = 0;
    const void* source = nullptr;  // Of a put.
    void* destination = nullptr;   // Of a get; of an atomic's old value, or null.
    uint64_t length = 0;
    uint64_t operand = 0;
    uint64_t compare = 0;
  };

  using Directory = std::function<absl::StatusOr<PeerCard>(Rank)>;

  // Memory of this rank that its transport has registered.
  struct RegisteredMemory {
    std::span<const std::byte> bytes;
    uint32_t local_key = 0;
  };

  // `node` gives this rank's doorbell and the membership; it and what `directory`
  // uses must outlive the Engine. What lies in `registered` is not copied on its way.
  Engine(std::unique_ptr<Transport> transport, const NodeView& node, Directory directory,
         const std::vector<RegisteredMemory>& registered = {});
  // Abandons all peers: nothing is touched any more afterwards.
  ~Engine();

  // Connects to all ranks, where the transport needs that both sides have done so before
  // either operates on the other: the caller then waits for all others to return, too.
  absl::Status ConnectAll(Deadline deadline);

  // Starts an operation; waits only for room in the ledger. The caller's memory
  // must stay valid until Finish has returned, whatever it returned.
  absl::StatusOr<Handle> Start(const Request& request, WaitLimit limit);

  // Whether Finish would return at once. Progresses.
  bool Done(Handle handle);

  // Waits until the operation is complete, at most until `deadline`, and
  // forgets it. kDeadlineExceeded: the caller's memory is not touched any more.
  // kUnavailable: the peer died; in doubt.
  absl::Status Finish(Handle handle, Deadline deadline);

  // Start and Finish.
  absl::Status Run(const Request& request, const WaitLimit& limit);

  // Starts an operation that ends at Flush. An error is recorded for it. A source
  // up to kMaxStagedBytes is copied; the memory of a longer one, and a get's
  // destination, must stay valid until Flush has returned.
  void Post(const Request& request, const WaitLimit& limit);

  // Post of a put of 1 to kShortBytes to the slab.
  void PostShort(Rank peer, uint64_t offset, const void* source, uint64_t length,
                 const WaitLimit& limit);
  static constexpr uint64_t kShortBytes = sizeof(uint64_t);

  // Makes the transport reach `memory`, so that what lies in it is not copied on its way,
  // until Unregister. kResourceExhausted says what limits it.
  absl::Status Register(std::span<std::byte> memory);

  // Waits until no operation uses that memory. Late: those that do are cut off, in doubt.
  // It is the caller's alone afterwards.
  void Unregister(std::span<const std::byte> memory, Deadline deadline);

  // Records an error against `peer`, for Flush: a post that could not start.
  void RecordError(Rank peer, absl::Status status);

  // Operations to `peer` before it reach it before those after it.
  void Fence(Rank peer);

  // Waits until all earlier operations to `peer`, of all threads, are over; errors are left
  // to Flush. Late: what was posted is abandoned, and that is an error, too.
  void Settle(Rank peer, Deadline deadline);

  // Waits until all earlier operations to `peer`, of all threads, are complete;
  // returns the errors recorded against it that the calling thread has not seen.
  // A dead peer's error never clears. Late: kDeadlineExceeded, and what was
  // posted is abandoned, so that its memory is the caller's again.
  absl::Status Flush(Rank peer, Deadline deadline);

  // Flush of all peers: finishes the live ones before it reports.
  absl::Status FlushAll(Deadline deadline);

  // Not 0 while an operation is outstanding, and for good once an error was
  // recorded: as long as it is 0 there is nothing to flush.
  const std::atomic<uint32_t>& unsettled() const;

  // Polls, and starts what was held back.
  void Progress();

  // `lost` hears of each peer that the transport has lost though the membership says that it is
  // alive, and why; it must not call the Engine, nor block. Before any operation.
  void OnLost(std::function<void(Rank peer, std::string_view why)> lost);

  // Gives up the peers that the membership says are dead, whether or not anything was ever under
  // way to them: nothing from them lands here afterwards.
  void AbandonDead();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_ENGINE_ENGINE_H_
