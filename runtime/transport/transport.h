// The one seam between the runtime and a network.
//
// A Transport moves bytes between this process and its peers' registered
// memory. It neither queues beyond what it has accepted, retries, stages nor
// ends the process: the Engine above it does the first three, once for all
// transports, and nobody the last.
//
// Threads: all methods are called with one lock held, the Engine's; but Register may
// run beside all others, and Serve is called without the lock, and takes it for moments.
#ifndef WEFT_RUNTIME_TRANSPORT_TRANSPORT_H_
#define WEFT_RUNTIME_TRANSPORT_TRANSPORT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/deadline.h"
#include "runtime/base/mutex.h"
#include "weft/rank.h"

namespace weft {

// Memory of this rank that peers may reach, or (kLocal) that operations may name as
// their local side.
struct Segment {
  enum class Kind : uint8_t { kSlab, kControl, kLocal };
  Kind kind;
  std::span<std::byte> bytes;
};

// A peer's segment as seen from here. Trivially copyable; made by Import, and
// only the transport that made it reads `base` and `key`.
struct RemoteRegion {
  std::byte* mapped = nullptr;  // Non-null iff loads and stores reach it.
  uint64_t base = 0;
  uint64_t key = 0;
  uint64_t length = 0;
};

// Small operations, notifications and atomics to a peer share one ordered lane;
// what the Engine does not copy rides the bulk lane, so that it does not hold
// the small ones up.
enum class Lane : uint8_t { kSmall, kBulk };

// What a put raises at its target once its data is visible there.
enum class Ride : uint8_t {
  kNone,
  kCounter,    // Adds 1 to notification counter `operand`.
  kSetSignal,  // Stores `operand` to the word at `compare` (an offset in `region`).
  kAddSignal,  // Adds `operand` to it.
};

// One one-sided operation. Exactly a cache line, so that a burst is an array.
struct Op {
  enum class Kind : uint8_t {
    kPut,
    kGet,
    // The atomics, on an aligned word of `length` 4 or 8 bytes. All but kSet
    // write the word's old value to `local` unless that is null.
    kFetchAdd,
    kCompareSwap,  // Stores `operand` iff the word equals `compare`.
    kSwap,
    kFetch,
    kSet,
    kAnd,
    kOr,
    kXor,
  };

  Kind kind = Kind::kPut;
  Ride ride = Ride::kNone;  // Puts only.
  Lane lane = Lane::kSmall;
  bool fenced = false;     // Starts after all earlier operations to that peer on its lane.
  uint32_t local_key = 0;  // Of registered source memory, where the transport needs that.
  uint64_t token = 0;      // Comes back in exactly one Event. 0: see Post.
  const RemoteRegion* region = nullptr;
  uint64_t offset = 0;
  void* local = nullptr;  // Source of a put, destination of all others.
  uint64_t length = 0;
  uint64_t operand = 0;
  uint64_t compare = 0;
};
static_assert(sizeof(Op) == 64);

// Something the network has to tell us.
struct Event {
  enum class Kind : uint8_t { kCompleted, kConnected, kPeerDown };
  enum class Result : uint8_t {
    kOk,
    kPeerDown,    // The peer, or its lane, is gone: in doubt, never repeated.
    kBadAddress,  // Out of the region; nothing was moved.
    kInternal,
  };

  uint64_t token = 0;  // kCompleted only.
  Rank peer = 0;
  Kind kind = Kind::kCompleted;
  Result result = Result::kOk;
};
static_assert(sizeof(Event) == 16);

// What a waiter needs in order to sleep until Poll has something.
struct Armed {
  bool ready = false;  // Something has already arrived: do not sleep.
  int fd = -1;         // Readable when something arrives; -1: the rank's doorbell rings.
  Deadline at;         // Poll again by then in any case.
};

// A registered segment; deregisters when destroyed.
class Registration {
 public:
  virtual ~Registration() = default;
  virtual std::string key() const = 0;  // Opaque: for the peers' Import.
  virtual uint32_t local_key() const { return 0; }
};

class Transport {
 public:
  // Those that it carries out; the Engine makes the others of these.
  enum class Atomics : uint8_t {
    kAll,
    kAddAndCompareSwap64,  // Fetch-add, fetch, and compare-swap, of 8 bytes.
  };

  struct Caps {
    std::string_view name;
    bool needs_registered_source = false;  // Op::local must lie in a registered segment.
    bool needs_service = false;            // A thread must call Serve.
    bool wakes_sleepers = false;           // Who rings the doorbell for all that arrives.
    bool connects_eagerly = false;         // Both sides must Connect before either posts.
    bool atomics_match_cpu = false;        // Exclude this host's own atomics.
    Atomics atomics = Atomics::kAll;
    uint32_t max_inline = 0;           // Puts this short need no registered source.
    uint64_t max_length = UINT64_MAX;  // The Engine splits what is longer.
  };

  virtual ~Transport() = default;
  virtual const Caps& caps() const = 0;

  // --- Control path: may block, allocate and log. ----------------------------

  virtual absl::StatusOr<std::unique_ptr<Registration>> Register(const Segment& segment) = 0;

  // All that a peer needs in order to Connect to us, as one opaque blob.
  virtual std::string Address() const = 0;

  // Idempotent, from either side or both at once. Done when Poll yields kConnected,
  // once for each call that returned OK.
  virtual absl::Status Connect(Rank peer, std::string_view address) = 0;

  virtual absl::StatusOr<RemoteRegion> Import(Rank peer, std::string_view key) = 0;

  // Why `peer` was lost, for an error's text; "": nothing is known.
  virtual std::string WhyLost(Rank) { return ""; }

  // Every outstanding operation to `peer` on `lane` ends as kPeerDown, local
  // memory of those operations is not touched any more once this returns, and
  // nothing from them lands at the peer once the lane has been used again. The bulk
  // lane can be; where it is one connection for both directions, the peer's
  // operations on it are cut off, too. Abandoning the small lane abandons the peer for good, its
  // bulk lane too, and nothing from that peer lands here afterwards.
  virtual void Abandon(Rank peer, Lane lane) = 0;

  // --- Data path: never blocks, allocates, logs or fails. ---------------------

  // Starts a prefix of `ops`, all to `peer`, with at most one doorbell, and
  // returns its length. Short means that this peer is full: Poll, then post the
  // rest. It says nothing of other peers. Operations may be carried out in any
  // order, but a `fenced` one and all after it on its lane start after all before
  // it there; across lanes nothing is ordered, the Engine waits. A ride follows
  // the data of its own put. A single aligned value of 1, 2, 4 or 8 bytes is not
  // torn. The ops are the caller's again on return; what `local` and `region`
  // point to, when the Event is there.
  //
  // Every non-zero token comes back in exactly one Event, whatever happens to
  // the peer, the queue or the device. An operation without one, whose address must be
  // good, ends with the next on its lane that has one: that Event tells of both.
  virtual size_t Post(Rank peer, std::span<const Op> ops) = 0;

  // Fills a prefix of `events`; returns its length.
  virtual size_t Poll(std::span<Event> events) = 0;

  // --- Waiting. ----------------------------------------------------------------

  virtual Armed Arm() = 0;

  // Answers peers until `deadline`; returns at once where nothing needs an answer. `mutex` is
  // what the callers of all other methods hold.
  virtual void Serve(Mutex& mutex, Deadline deadline) = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TRANSPORT_H_
