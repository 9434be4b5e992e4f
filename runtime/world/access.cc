// Puts, gets and atomics that are not inlined: because this process does not
// reach the memory, or because the address is bad or its rank dead, which is
// found out here.
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "runtime/base/deadline.h"
#include "runtime/engine/engine.h"
#include "runtime/sync/notifications.h"
#include "runtime/world/process.h"
#include "runtime/world/runtime.h"
#include "weft/internal/reach.h"
#include "weft/notification.h"

namespace weft::internal {
namespace {

// Whether there is a runtime to carry anything out.
absl::Status Usable(const Reach& reach) {
  return reach.runtime == nullptr ? NotJoined() : reach.runtime->Usable();
}

bool IsOfRank(const Runtime& runtime, uint64_t bits) {
  return bits >> kOffsetBits != 0 && RankOf(bits) < runtime.size();
}

// An address that no rank can have. What lies outside of a slab is the
// transport's to find.
absl::Status CheckRank(const Runtime& runtime, uint64_t bits) {
  if (IsOfRank(runtime, bits)) return absl::OkStatus();
  if (bits == 0) return absl::OutOfRangeError("the RemotePtr is null");
  return absl::OutOfRangeError(
      absl::StrFormat("no rank has the RemotePtr with the bits 0x%016x: the job has %u ranks", bits,
                      runtime.size()));
}

// Whether the runtime can be asked for something at that address.
inline bool Reaches(const Reach& reach, uint64_t bits) {
  return reach.runtime != nullptr && reach.runtime->usable() && IsOfRank(*reach.runtime, bits);
}

// Directs `request` to that address; false: see WhyNot.
inline bool Aim(const Reach& reach, uint64_t bits, Engine::Request& request) {
  if (!Reaches(reach, bits)) return false;
  request.peer = RankOf(bits);
  request.offset = OffsetOf(bits);
  return true;
}

// Why it cannot.
[[gnu::cold]] absl::Status WhyNot(const Reach& reach, uint64_t bits) {
  if (absl::Status usable = Usable(reach); !usable.ok()) return usable;
  return CheckRank(*reach.runtime, bits);
}

absl::Status AddRide(const Runtime& runtime, const RideSpec& ride, Engine::Request& request) {
  switch (ride.kind) {
    case RideSpec::Kind::kNone:
      return absl::OkStatus();
    case RideSpec::Kind::kCounter:
      request.ride = Ride::kCounter;
      request.operand = ride.value;
      return absl::OkStatus();
    case RideSpec::Kind::kSetSignal:
    case RideSpec::Kind::kAddSignal:
      break;
  }
  if (absl::Status known = CheckRank(runtime, ride.signal); !known.ok()) return known;
  if (RankOf(ride.signal) != request.peer) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a put to rank %u cannot raise a signal on rank %u: both must be on one",
                        request.peer, RankOf(ride.signal)));
  }
  request.ride = ride.kind == RideSpec::Kind::kSetSignal ? Ride::kSetSignal : Ride::kAddSignal;
  request.operand = ride.value;
  request.compare = OffsetOf(ride.signal);
  return absl::OkStatus();
}

absl::Status Misaligned(const AtomicSpec& atomic) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "an atomic of %u bytes at offset %u of rank %u: the address must be a multiple of its size",
      atomic.bytes, OffsetOf(atomic.at), RankOf(atomic.at)));
}

Op::Kind KindOf(AtomicKind kind) {
  static constexpr Op::Kind kKinds[] = {
      Op::Kind::kFetchAdd, Op::Kind::kCompareSwap, Op::Kind::kSwap, Op::Kind::kFetch,
      Op::Kind::kSet,      Op::Kind::kAnd,         Op::Kind::kOr,   Op::Kind::kXor};
  return kKinds[static_cast<size_t>(kind)];  // In the order of AtomicKind.
}

// These fill an empty request, or say what is wrong.
[[gnu::always_inline]] inline absl::Status MakePut(const Reach& reach, uint64_t to,
                                                   const void* from, size_t bytes,
                                                   const RideSpec* ride, Engine::Request& request) {
  if (!Aim(reach, to, request)) return WhyNot(reach, to);
  request.kind = Op::Kind::kPut;
  request.source = from;
  request.length = bytes;
  return ride == nullptr ? absl::OkStatus() : AddRide(*reach.runtime, *ride, request);
}
[[gnu::always_inline]] inline absl::Status MakeGet(const Reach& reach, void* to, uint64_t from,
                                                   size_t bytes, Engine::Request& request) {
  if (!Aim(reach, from, request)) return WhyNot(reach, from);
  request.kind = Op::Kind::kGet;
  request.destination = to;
  request.length = bytes;
  return absl::OkStatus();
}
[[gnu::always_inline]] inline absl::Status MakeAtomic(const Reach& reach, const AtomicSpec& atomic,
                                                      void* old, Engine::Request& request) {
  if (!Aim(reach, atomic.at, request)) return WhyNot(reach, atomic.at);
  if ((OffsetOf(atomic.at) & (atomic.bytes - 1)) != 0) return Misaligned(atomic);
  request.kind = KindOf(atomic.kind);
  request.destination = old;
  request.length = atomic.bytes;
  request.operand = atomic.operand;
  request.compare = atomic.compare;
  return absl::OkStatus();
}

inline absl::Status Run(const Reach& reach, const Engine::Request& request) {
  return reach.runtime->engine().Run(request, reach.runtime->LimitOfOperations());
}

// The errors of posts that name no rank are this rank's own.
void Record(const Reach& reach, uint64_t bits, absl::Status status) {
  Runtime* const runtime = reach.runtime;
  if (runtime == nullptr || !runtime->Usable().ok()) return;  // Flush says so, too.
  runtime->engine().RecordError(IsOfRank(*runtime, bits) ? RankOf(bits) : runtime->rank(),
                                std::move(status));
}

void Post(const Reach& reach, uint64_t bits, absl::Status made, const Engine::Request& request) {
  if (!made.ok()) return Record(reach, bits, std::move(made));
  reach.runtime->engine().Post(request, reach.runtime->LimitOfOperations());
}

absl::StatusOr<Pending> Start(const Reach& reach, absl::Status made,
                              const Engine::Request& request) {
  if (!made.ok()) return made;
  auto handle = reach.runtime->engine().Start(request, reach.runtime->LimitOfOperations());
  if (!handle.ok()) return handle.status();
  return Pending(reach.runtime->shared_from_this(),
                 uint64_t{handle->generation} << 32 | handle->slot);
}

// False where that is the Engine's to do: a signal that loads and stores, or this
// process's atomics, do not reach; or one that is wrong, which it finds out.
bool RaiseInline(const Reach& reach, uint64_t to, const RideSpec& ride) {
  const Rank rank = RankOf(to);
  ControlRegion& control = reach.runtime->node().control(rank);
  const bool adds = ride.kind == RideSpec::Kind::kAddSignal;
  switch (ride.kind) {
    case RideSpec::Kind::kNone:
      return true;
    case RideSpec::Kind::kCounter:
      weft::Raise(control, static_cast<uint32_t>(ride.value));
      return true;
    case RideSpec::Kind::kSetSignal:
    case RideSpec::Kind::kAddSignal:
      break;
  }
  auto* const word = static_cast<uint64_t*>(adds ? ResolveAtomic<8>(reach, ride.signal)
                                                 : Resolve<8>(reach, ride.signal));
  if (word == nullptr || RankOf(ride.signal) != rank) return false;
  if (adds) {
    __atomic_fetch_add(word, ride.value, __ATOMIC_SEQ_CST);
  } else {
    __atomic_store_n(word, ride.value, __ATOMIC_SEQ_CST);
  }
  Ring(control.doorbell);
  return true;
}

void PostPut(const Reach& reach, uint64_t to, const void* from, size_t bytes,
             const RideSpec* ride) {
  Engine::Request request;
  Post(reach, to, MakePut(reach, to, from, bytes, ride, request), request);
}

Engine::Handle HandleOf(uint64_t bits) {
  return {.slot = static_cast<uint32_t>(bits), .generation = static_cast<uint32_t>(bits >> 32)};
}

}  // namespace

absl::Status SlowPut(const Reach& reach, uint64_t to, const void* from, size_t bytes,
                     const RideSpec* ride) {
  Engine::Request request;
  if (absl::Status made = MakePut(reach, to, from, bytes, ride, request); !made.ok()) return made;
  return Run(reach, request);
}
absl::Status SlowGet(const Reach& reach, void* to, uint64_t from, size_t bytes) {
  Engine::Request request;
  if (absl::Status made = MakeGet(reach, to, from, bytes, request); !made.ok()) return made;
  return Run(reach, request);
}
absl::Status SlowAtomic(const Reach& reach, const AtomicSpec& atomic, void* old) {
  Engine::Request request;
  if (absl::Status made = MakeAtomic(reach, atomic, old, request); !made.ok()) return made;
  return Run(reach, request);
}

void SlowPostPut(const Reach& reach, uint64_t to, const void* from, size_t bytes,
                 const RideSpec* ride) {
  if (bytes != 0 && bytes <= Engine::kShortBytes && ride == nullptr && Reaches(reach, to)) {
    return reach.runtime->engine().PostShort(RankOf(to), OffsetOf(to), from, bytes,
                                             reach.runtime->LimitOfOperations());
  }
  PostPut(reach, to, from, bytes, ride);
}
void SlowPostGet(const Reach& reach, void* to, uint64_t from, size_t bytes) {
  Engine::Request request;
  Post(reach, from, MakeGet(reach, to, from, bytes, request), request);
}
void SlowPostAtomic(const Reach& reach, const AtomicSpec& atomic) {
  Engine::Request request;
  Post(reach, atomic.at, MakeAtomic(reach, atomic, nullptr, request), request);
}

absl::StatusOr<Pending> SlowAsyncPut(const Reach& reach, uint64_t to, const void* from,
                                     size_t bytes, const RideSpec* ride) {
  Engine::Request request;
  return Start(reach, MakePut(reach, to, from, bytes, ride, request), request);
}
absl::StatusOr<Pending> SlowAsyncGet(const Reach& reach, void* to, uint64_t from, size_t bytes) {
  Engine::Request request;
  return Start(reach, MakeGet(reach, to, from, bytes, request), request);
}
absl::StatusOr<Pending> SlowAsyncAtomic(const Reach& reach, const AtomicSpec& atomic, void* old) {
  Engine::Request request;
  return Start(reach, MakeAtomic(reach, atomic, old, request), request);
}

void SlowFence(const Reach& reach, Rank rank) {
  if (!Usable(reach).ok() || rank >= reach.runtime->size()) return;  // Flush says so.
  Engine& engine = reach.runtime->engine();
  // What is stored inline afterwards would overtake what is under way.
  if (reach.limit[rank + 1].load(std::memory_order_relaxed) != 0) {
    engine.Settle(rank, reach.runtime->OperationDeadline());
  } else {
    engine.Fence(rank);
  }
}

absl::Status SlowFlush(const Reach& reach, Rank rank) {
  if (absl::Status usable = Usable(reach); !usable.ok()) return usable;
  if (rank >= reach.runtime->size()) {
    return absl::OutOfRangeError(
        absl::StrFormat("Flush of rank %u: the job has %u ranks", rank, reach.runtime->size()));
  }
  return reach.runtime->engine().Flush(rank, reach.runtime->OperationDeadline());
}

absl::Status SlowFlushAll(const Reach& reach) {
  if (absl::Status usable = Usable(reach); !usable.ok()) return usable;
  return reach.runtime->engine().FlushAll(reach.runtime->OperationDeadline());
}

Pending::Pending(std::shared_ptr<Runtime> runtime, uint64_t handle)
    : runtime_(std::move(runtime)), handle_(handle) {}
Pending::Pending(Pending&& other) noexcept
    : runtime_(std::move(other.runtime_)), handle_(other.handle_) {}
Pending& Pending::operator=(Pending&& other) noexcept {
  if (this != &other) {
    if (active()) (void)Finish(0);
    runtime_ = std::move(other.runtime_);
    handle_ = other.handle_;
  }
  return *this;
}
Pending::~Pending() {
  if (active()) (void)Finish(0);
}

bool Pending::Ready() const {
  return !runtime_->Usable().ok() || runtime_->engine().Done(HandleOf(handle_));
}

absl::Status Pending::Finish(int64_t deadline_nanos) {
  const std::shared_ptr<Runtime> runtime = std::move(runtime_);
  // A forked child has only the memory of it.
  if (absl::Status usable = runtime->Usable(); !usable.ok()) return usable;
  return runtime->engine().Finish(HandleOf(handle_),
                                  deadline_nanos == 0 ? runtime->OperationDeadline()
                                                      : Deadline::AtMonotonicNanos(deadline_nanos));
}

absl::Status Raise(const Reach& reach, uint64_t to, const RideSpec& ride) {
  return RaiseInline(reach, to, ride) ? absl::OkStatus() : SlowPut(reach, to, nullptr, 0, &ride);
}

absl::StatusOr<Pending> AsyncRaise(const Reach& reach, uint64_t to, const RideSpec& ride) {
  if (RaiseInline(reach, to, ride)) return Pending();
  return SlowAsyncPut(reach, to, nullptr, 0, &ride);
}

void PostRaise(const Reach& reach, uint64_t to, const RideSpec& ride) {
  if (!RaiseInline(reach, to, ride)) SlowPostPut(reach, to, nullptr, 0, &ride);
}

void PostNotify(const Reach& reach, Rank rank, const Rider& ride) {
  if (rank >= kMaxRanks) rank = kMaxRanks - 1;  // As far from any rank.
  const uint64_t to = EncodeAddress(rank, 0);
  if (reach.limit[to >> kOffsetBits].load(std::memory_order_relaxed) != 0) [[likely]] {
    PostRaise(reach, to, ride.spec());
  } else {
    SlowPostPut(reach, to, nullptr, 0, ride.spec_or_null());
  }
}

}  // namespace weft::internal
