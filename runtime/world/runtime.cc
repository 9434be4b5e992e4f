#include "runtime/world/runtime.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/waiter.h"
#include "runtime/sync/job_rendezvous.h"
#include "runtime/sync/node_rendezvous.h"
#include "runtime/world/peer_card.h"
#include "runtime/world/process.h"
#include "runtime/world/transports.h"

namespace weft::internal {
namespace {

std::string CardKey(Rank rank) { return absl::StrCat("card/", rank); }

}  // namespace

Runtime::Runtime(std::unique_ptr<Bootstrap> bootstrap, const Settings& settings)
    : bootstrap_(std::move(bootstrap)),
      settings_(settings),
      operation_limit_(WaitLimit::For(settings.deadline)),
      fork_generation_(ForkGeneration()) {}

Runtime::~Runtime() {
  if (!forked()) return;
  // A forked child has neither the Engine's thread, nor a right to its parent's queues.
  struct Inherited {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Registration> slab, control;
    std::unique_ptr<DeathWatch> death_watch;
  };
  static auto* const inherited = new std::vector<Inherited>;  // Never destroyed, and no leak.
  inherited->push_back({std::move(engine_), std::move(slab_registration_),
                        std::move(control_registration_), std::move(death_watch_)});
}

absl::StatusOr<std::shared_ptr<Runtime>> Runtime::Join(std::unique_ptr<Bootstrap> bootstrap,
                                                       const Settings& settings) {
  std::shared_ptr<Runtime> runtime(new Runtime(std::move(bootstrap), settings));
  if (absl::Status connected = runtime->Connect(); !connected.ok()) return connected;
  return runtime;
}

absl::Status Runtime::Connect() {
  const Deadline deadline = WaitDeadline();
  const Rank rank = bootstrap_->rank();
  const Rank size = bootstrap_->size();

  auto shared = bootstrap_->ShareMemory(settings_.shape, deadline);
  if (!shared.ok()) return shared.status();
  std::optional<NodeFds> fds = *std::move(shared);
  if (!fds.has_value()) {
    auto authority = NodeAuthority::Create(size, settings_.shape);
    if (!authority.ok()) return authority.status();
    authority_ = *std::move(authority);
    auto own = authority_->Duplicate();
    if (!own.ok()) return own.status();
    fds = *std::move(own);
  }
  auto memory = NodeMemory::Map(*fds, rank, size, settings_.shape);
  if (!memory.ok()) return memory.status();
  memory_ = *std::move(memory);
  node_ = memory_->view();
  node_.accepted_epoch = &accepted_epoch_;

  auto reaching = ChooseReaching(settings_, fds->nodes, node_, *bootstrap_, deadline);
  if (!reaching.ok()) return reaching.status();
  std::unique_ptr<Transport> transport = std::move(reaching->transport);
  PeerCard card = {.address = transport->Address(), .slab_key = {}, .control_key = {}};
  const std::span<std::byte> slab_bytes(node_.slab(rank), node_.slab_bytes);
  const std::span<std::byte> control_bytes(node_.control_base + rank * kControlBytes,
                                           kControlBytes);
  auto slab = transport->Register({.kind = Segment::Kind::kSlab, .bytes = slab_bytes});
  if (!slab.ok()) return slab.status();
  auto control = transport->Register({.kind = Segment::Kind::kControl, .bytes = control_bytes});
  if (!control.ok()) return control.status();
  slab_registration_ = *std::move(slab);
  control_registration_ = *std::move(control);
  card.slab_key = slab_registration_->key();
  card.control_key = control_registration_->key();
  if (absl::Status put = bootstrap_->Put(CardKey(rank), EncodePeerCard(card)); !put.ok()) {
    return put;
  }
  if (absl::Status all = bootstrap_->Fence(deadline); !all.ok()) return all;

  const bool connects_eagerly = transport->caps().connects_eagerly;
  const bool needs_service = transport->caps().needs_service;
  const bool wakes_sleepers = transport->caps().wakes_sleepers;
  engine_ = std::make_unique<Engine>(
      std::move(transport), node_,
      [this](Rank peer) -> absl::StatusOr<PeerCard> {
        auto bytes = bootstrap_->Get(CardKey(peer), OperationDeadline());
        if (!bytes.ok()) return bytes.status();
        return DecodePeerCard(*bytes);
      },
      std::vector<Engine::RegisteredMemory>{
          {.bytes = slab_bytes, .local_key = slab_registration_->local_key()},
          {.bytes = control_bytes, .local_key = control_registration_->local_key()}});
  if (node_.membership->survivors_go_on.load(std::memory_order_relaxed) != 0) WatchDeaths();
  if (connects_eagerly) {
    if (absl::Status connected = engine_->ConnectAll(deadline); !connected.ok()) return connected;
    if (absl::Status all = bootstrap_->Fence(deadline); !all.ok()) return all;
  }
  // Shared memory moves data without this process's help; all else does not.
  if (!reaching->inlines || needs_service) {
    progress_ = {.step = [this] { engine_->Progress(); },
                 .every_ns = wakes_sleepers ? INT64_MAX : 100'000};
  }
  // Where faults are asked for, all goes through the transport.
  const bool meets_by_transport = fds->nodes > 1 || settings_.fault_seed.has_value();
  std::unique_ptr<Rendezvous> rendezvous;
  if (meets_by_transport) {
    rendezvous = std::make_unique<JobRendezvous>(node_, *engine_, progress_);
  } else {
    rendezvous = std::make_unique<NodeRendezvous>(node_, progress_);
  }
  agreement_ = std::make_unique<Agreement>(std::move(rendezvous), rank);
  notifications_ = std::make_unique<NotificationState>(node_, progress_);
  const uint64_t symmetric_bytes = settings_.shape.slab_bytes - settings_.shape.local_bytes;
  symmetric_ = std::make_unique<SymmetricHeap>(node_, *agreement_, symmetric_bytes);
  counters_ = std::make_unique<CounterIds>(*agreement_, *notifications_);
  {
    absl::MutexLock lock(&local_lock_);
    local_.emplace(symmetric_bytes, settings_.shape.slab_bytes);
  }

  bias_.resize(size + 1);
  for (Rank r = 0; r < size; ++r) {
    bias_[r + 1] = reinterpret_cast<uint64_t>(node_.slab(r)) - EncodeAddress(r, 0);
  }
  reach_ = {.limit = reaching->inlines ? node_.membership->limit : no_limits,
            .atomic_limit = reaching->inlines_atomics ? node_.membership->limit : no_limits,
            .bias = bias_.data(),
            .unsettled = &engine_->unsettled(),
            .dead = &node_.membership->dead,
            .runtime = this};
  return absl::OkStatus();
}

absl::Status Runtime::Usable() const {
  if (forked()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "this process was forked from rank %u and is no rank itself: only the parent can use Weft",
        node_.rank));
  }
  if (left_.load(std::memory_order_relaxed)) {
    return absl::FailedPreconditionError(absl::StrFormat("rank %u has left the job", node_.rank));
  }
  return absl::OkStatus();
}

absl::Status Runtime::FlushEarlier() {
  if (reach_.unsettled->load(std::memory_order_acquire) == 0 &&
      reach_.dead->load(std::memory_order_relaxed) == 0) [[likely]] {
    return absl::OkStatus();
  }
  return engine_->FlushAll(OperationDeadline());
}

absl::Status Runtime::Barrier() {
  if (absl::Status usable = Usable(); !usable.ok()) return usable;
  absl::Status flushed = FlushEarlier();
  absl::Status met = agreement_->Barrier(LimitOfWaits());
  return met.ok() ? flushed : met;
}

absl::StatusOr<SymmetricHeap::Object> Runtime::CreateSymmetric(uint64_t count, uint64_t size,
                                                               uint64_t alignment) {
  if (absl::Status usable = Usable(); !usable.ok()) return usable;
  absl::Status flushed = FlushEarlier();
  auto object = symmetric_->Create(count, size, alignment, WaitDeadline());
  if (!object.ok() || flushed.ok()) return object;
  symmetric_->Release(object->id);
  return flushed;
}

absl::StatusOr<uint32_t> Runtime::CreateCounter() {
  if (absl::Status usable = Usable(); !usable.ok()) return usable;
  absl::Status flushed = FlushEarlier();
  auto id = counters_->Create(WaitDeadline());
  if (!id.ok() || flushed.ok()) return id;
  counters_->Release(*id);
  return flushed;
}

absl::Status Runtime::Leave() {
  if (absl::Status usable = Usable(); !usable.ok()) return usable;
  absl::Status result = FlushEarlier();
  if (left_.exchange(true)) {
    return absl::FailedPreconditionError(absl::StrFormat("rank %u is leaving already", rank()));
  }
  const Deadline deadline = WaitDeadline();
  result.Update(bootstrap_->Leave());
  if (authority_.has_value()) authority_->MarkLeft(rank());
  if (result.ok() || absl::IsUnavailable(result)) result.Update(WaitUntilAllLeft(deadline));
  return result;
}

absl::Status Runtime::WaitUntilAllLeft(Deadline deadline) {
  const Membership& membership = *node_.membership;
  Waiter waiter;
  auto all_gone = [&] {
    return membership.left.load(std::memory_order_acquire) +
               membership.dead.load(std::memory_order_acquire) >=
           node_.size;
  };
  for (;;) {
    const uint32_t seen = membership.changes.load(std::memory_order_acquire);
    switch (waiter.Wait(all_gone, node_.control(rank()).doorbell, membership, seen, deadline, {})) {
      case Waiter::Outcome::kReady:
        return absl::OkStatus();
      case Waiter::Outcome::kMembershipChanged:
        continue;
      case Waiter::Outcome::kDeadline:
        for (Rank r = 0; r < node_.size; ++r) {
          if (membership.state[r].load(std::memory_order_acquire) == MemberState::kAlive) {
            return absl::DeadlineExceededError(
                absl::StrFormat("rank %u left, but rank %u has not left in time", rank(), r));
          }
        }
        return absl::OkStatus();
    }
  }
}

World Runtime::MakeWorld() { return World(Team(shared_from_this())); }

absl::StatusOr<uint64_t> Runtime::AllocateLocal(size_t count, size_t size, size_t alignment) {
  if (absl::Status usable = Usable(); !usable.ok()) return usable;
  uint64_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = UINT64_MAX;
  absl::MutexLock lock(&local_lock_);
  auto block = local_->Allocate(bytes, alignment);
  if (!block.ok()) {
    return absl::Status(block.status().code(),
                        absl::StrCat("Allocate of ", count, " objects of ", size, " bytes on rank ",
                                     rank(), ": ", block.status().message(),
                                     "; raise World::Options::local_bytes (WEFT_LOCAL_BYTES)"));
  }
  return EncodeAddress(rank(), block->offset);
}

absl::Status Runtime::FreeLocal(uint64_t bits) {
  if (absl::Status usable = Usable(); !usable.ok()) return usable;
  if (bits == 0) return absl::OkStatus();
  if (RankOf(bits) != rank()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("Free on rank %u of memory of rank %u: only its own rank can free it",
                        rank(), RankOf(bits)));
  }
  absl::MutexLock lock(&local_lock_);
  absl::Status freed = local_->Free(OffsetOf(bits));
  if (freed.ok()) return freed;
  return absl::Status(freed.code(), absl::StrCat("Free on rank ", rank(), ": ", freed.message()));
}

}  // namespace weft::internal
