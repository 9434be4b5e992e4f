// What a program makes in a world: symmetric and local memory, notification
// counters; and its waits.
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/world/process.h"
#include "runtime/world/runtime.h"
#include "weft/allocate.h"
#include "weft/notification.h"
#include "weft/symmetric.h"

namespace weft {
namespace {

WaitLimit LimitOfWait(const internal::Runtime& runtime, int64_t nanos) {
  return nanos == 0 ? runtime.LimitOfWaits() : Deadline::AtMonotonicNanos(nanos);
}

}  // namespace

namespace internal {

absl::StatusOr<SymmetricBlock> SymmetricBlock::Create(const Team& team, size_t count, size_t size,
                                                      size_t alignment) {
  const std::shared_ptr<Runtime>& runtime = team.runtime();
  auto object = runtime->CreateSymmetric(count, size, alignment);
  if (!object.ok()) return object.status();
  return SymmetricBlock(runtime, object->id, object->offset,
                        runtime->node().slab(runtime->rank()) + object->offset);
}

SymmetricBlock& SymmetricBlock::operator=(SymmetricBlock&& other) noexcept {
  if (this != &other) {
    Release();
    runtime_ = std::move(other.runtime_);
    id_ = other.id_;
    offset_ = other.offset_;
    mine_ = other.mine_;
  }
  return *this;
}

void SymmetricBlock::Release() {
  if (runtime_ != nullptr) runtime_->symmetric().Release(id_);
  runtime_ = nullptr;
}

absl::StatusOr<uint64_t> AllocateLocal(const Reach& reach, size_t count, size_t size,
                                       size_t alignment) {
  if (reach.runtime == nullptr) return NotJoined();
  return reach.runtime->AllocateLocal(count, size, alignment);
}

absl::Status FreeLocal(const Reach& reach, uint64_t bits) {
  if (reach.runtime == nullptr) return NotJoined();
  return reach.runtime->FreeLocal(bits);
}

void* LocalAddress(const Reach& reach, uint64_t bits, size_t bytes) {
  const Runtime* const runtime = reach.runtime;
  if (runtime == nullptr || !runtime->Usable().ok()) return nullptr;
  Reach mapped = reach;
  mapped.limit = runtime->node().membership->limit;
  mapped.bias = runtime->reach().bias;
  return ResolveBytes(mapped, bits, bytes);
}

absl::Status WaitSignal(const Reach& reach, RemotePtr<uint64_t> signal, uint64_t at_least,
                        int64_t deadline_nanos) {
  if (reach.runtime == nullptr) return NotJoined();
  Runtime& runtime = *reach.runtime;
  if (absl::Status usable = runtime.Usable(); !usable.ok()) return usable;
  if (!signal || signal.rank() != runtime.rank() || signal.offset() % 8 != 0 ||
      signal.offset() >= runtime.node().slab_bytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("WaitSignal on rank %u of the address 0x%016x: a signal is an aligned word "
                        "of the waiter's own slab",
                        runtime.rank(), signal.bits()));
  }
  const auto* word =
      reinterpret_cast<const uint64_t*>(runtime.node().slab(runtime.rank()) + signal.offset());
  return runtime.notifications().WaitSignal(word, at_least, LimitOfWait(runtime, deadline_nanos));
}

}  // namespace internal

absl::StatusOr<NotificationCounter> NotificationCounter::Create(const Team& team) {
  const std::shared_ptr<internal::Runtime>& runtime = team.runtime();
  auto id = runtime->CreateCounter();
  if (!id.ok()) return id.status();
  return NotificationCounter(runtime, *id);
}

NotificationCounter& NotificationCounter::operator=(NotificationCounter&& other) noexcept {
  if (this != &other) {
    Release();
    runtime_ = std::move(other.runtime_);
    id_ = other.id_;
  }
  return *this;
}

void NotificationCounter::Release() {
  if (runtime_ != nullptr) runtime_->counters().Release(id_);
  runtime_ = nullptr;
}

absl::Status NotificationCounter::Wait(uint64_t count) { return Wait(count, 0); }

absl::Status NotificationCounter::WaitUntil(uint64_t count, absl::Time deadline) {
  return Wait(count, internal::MonotonicNanosAt(deadline));
}

absl::Status NotificationCounter::Wait(uint64_t count, int64_t deadline_nanos) {
  if (absl::Status usable = runtime_->Usable(); !usable.ok()) return usable;
  return runtime_->notifications().Wait(id_, count, LimitOfWait(*runtime_, deadline_nanos));
}

uint64_t NotificationCounter::Arrived() const { return runtime_->notifications().Pending(id_); }

}  // namespace weft
