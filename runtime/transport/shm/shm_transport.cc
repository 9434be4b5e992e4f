#include "runtime/transport/shm/shm_transport.h"

#include <atomic>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/base/doorbell.h"
#include "runtime/transport/address.h"
#include "runtime/transport/cpu_atomics.h"
#include "runtime/transport/key_registration.h"
#include "runtime/transport/move.h"

namespace weft {
namespace {

// What this transport publishes: an address, or the key of a segment.
struct Blob {
  static constexpr uint32_t kMagic = 0x31485357;  // "WSH1"
  enum Kind : uint32_t { kAddress, kSlabKey, kControlKey };

  uint32_t magic = kMagic;
  uint32_t kind;
  uint32_t rank;

  std::string Encode() const {
    return std::string(reinterpret_cast<const char*>(this), sizeof(*this));
  }
  static std::optional<Blob> Decode(std::string_view bytes) {
    Blob blob;
    if (bytes.size() != sizeof(blob)) return std::nullopt;
    std::memcpy(&blob, bytes.data(), sizeof(blob));
    if (blob.magic != kMagic || blob.kind > kControlKey) return std::nullopt;
    return blob;
  }
};

}  // namespace

ShmTransport::ShmTransport(const NodeView& node)
    : node_(node), abandoned_(node.size), ring_(std::make_unique<Event[]>(kMaxEvents)) {}

const Transport::Caps& ShmTransport::caps() const {
  static constexpr Caps kCaps = {
      .name = "shm", .atomics_match_cpu = true, .max_inline = UINT32_MAX};
  return kCaps;
}

absl::Status ShmTransport::CheckRank(Rank peer) const {
  if (peer < node_.size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", peer, " is not on this node, which has ", node_.size, " ranks"));
}

absl::StatusOr<std::unique_ptr<Registration>> ShmTransport::Register(const Segment& segment) {
  const bool slab = segment.kind == Segment::Kind::kSlab;
  const std::byte* base = slab ? node_.slab(node_.rank)
                               : reinterpret_cast<const std::byte*>(&node_.control(node_.rank));
  const size_t bytes = slab ? node_.slab_bytes : kControlBytes;
  if (segment.bytes.data() != base || segment.bytes.size() != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the shm transport can register only rank ", node_.rank, "'s own ",
                     slab ? "slab" : "control region", " of ", bytes, " bytes, not ",
                     segment.bytes.size(), " bytes elsewhere: peers find them at a fixed place"));
  }
  const Blob key = {.kind = slab ? Blob::kSlabKey : Blob::kControlKey, .rank = node_.rank};
  return std::make_unique<KeyRegistration>(key.Encode());
}

std::string ShmTransport::Address() const {
  return Blob{.kind = Blob::kAddress, .rank = node_.rank}.Encode();
}

absl::Status ShmTransport::Connect(Rank peer, std::string_view address) {
  if (absl::Status status = CheckRank(peer); !status.ok()) return status;
  const std::optional<Blob> blob = Blob::Decode(address);
  if (!blob || blob->kind != Blob::kAddress || blob->rank != peer) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", address.size(), "-byte address is not rank ", peer,
                     "'s in shared memory: do all ranks run the same version of Weft?"));
  }
  if (!Reachable(peer)) {
    return absl::UnavailableError(absl::StrCat("rank ", peer, " is dead or was given up"));
  }
  connected_.push_back(peer);
  return absl::OkStatus();
}

absl::StatusOr<RemoteRegion> ShmTransport::Import(Rank peer, std::string_view key) {
  if (absl::Status status = CheckRank(peer); !status.ok()) return status;
  const std::optional<Blob> blob = Blob::Decode(key);
  if (!blob || blob->kind == Blob::kAddress || blob->rank != peer) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", key.size(), "-byte key is not of rank ", peer,
                     "'s shared memory: do all ranks run the same version of Weft?"));
  }
  RemoteRegion region;
  if (blob->kind == Blob::kSlabKey) {
    region.mapped = node_.slab(peer);
    region.length = node_.slab_bytes;
  } else {
    region.mapped = reinterpret_cast<std::byte*>(&node_.control(peer));
    region.length = kControlBytes;
  }
  return region;
}

void ShmTransport::Abandon(Rank peer, Lane lane) {
  // Nothing is ever under way here: what was posted is over.
  if (peer < node_.size && lane == Lane::kSmall) abandoned_[peer] = true;
}

bool ShmTransport::Reachable(Rank peer) const {
  return peer < node_.size && !abandoned_[peer] &&
         node_.membership->state[peer].load(std::memory_order_acquire) != MemberState::kDead;
}

Event::Result ShmTransport::Carry(Rank peer, const Op& op, bool* rang) {
  if (op.region == nullptr || op.region->mapped == nullptr) return Event::Result::kInternal;
  if (!GoodAddress(op)) return Event::Result::kBadAddress;
  if (op.fenced) std::atomic_thread_fence(std::memory_order_seq_cst);

  std::byte* const remote = op.region->mapped + op.offset;
  if (IsAtomic(op.kind)) {
    const uint64_t old = AtomicOnCpu(remote, op.kind, op.length, op.operand, op.compare);
    if (op.local != nullptr && op.kind != Op::Kind::kSet) std::memcpy(op.local, &old, op.length);
    return Event::Result::kOk;
  }
  if (op.kind == Op::Kind::kGet) {
    CopyFromShared(op.local, remote, op.length);
    return Event::Result::kOk;
  }
  CopyToShared(remote, op.local, op.length);

  // All of these are seq_cst, which Ring relies on.
  if (op.ride == Ride::kCounter) {
    node_.control(peer).counters[op.operand].arrivals.fetch_add(1);
  } else if (op.ride != Ride::kNone) {
    std::atomic_ref<uint64_t> signal(*reinterpret_cast<uint64_t*>(op.region->mapped + op.compare));
    if (op.ride == Ride::kSetSignal) {
      signal.store(op.operand);
    } else {
      signal.fetch_add(op.operand);
    }
  }
  *rang |= op.ride != Ride::kNone;
  return Event::Result::kOk;
}

size_t ShmTransport::Post(Rank peer, std::span<const Op> ops) {
  size_t posted = 0;
  bool rang = false;
  for (const Op& op : ops) {
    if (op.token != 0 && ring_tail_ - ring_head_ == kMaxEvents) break;
    const Event::Result result =
        Reachable(peer) ? Carry(peer, op, &rang) : Event::Result::kPeerDown;
    if (op.token != 0) {
      ring_[ring_tail_++ % kMaxEvents] = {.token = op.token, .peer = peer, .result = result};
    }
    ++posted;
  }
  if (rang) Ring(node_.control(peer).doorbell);
  return posted;
}

size_t ShmTransport::Poll(std::span<Event> events) {
  size_t count = 0;
  while (count < events.size() && !connected_.empty()) {
    events[count++] = {.peer = connected_.front(), .kind = Event::Kind::kConnected};
    connected_.pop_front();
  }
  while (count < events.size() && ring_head_ != ring_tail_) {
    events[count++] = ring_[ring_head_++ % kMaxEvents];
  }
  return count;
}

Armed ShmTransport::Arm() {
  return {.ready = !connected_.empty() || ring_head_ != ring_tail_, .fd = -1, .at = Deadline()};
}

void ShmTransport::Serve(Mutex&, Deadline) {}

}  // namespace weft
