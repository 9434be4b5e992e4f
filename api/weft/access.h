// Put and get: one-sided writes and reads of the global heap.
//
//   Put, Get             return a Status, complete (blocking, at most the
//                        operations' deadline; no wait for memory of this node)
//   AsyncPut, AsyncGet   return a Future: for overlap
//   PostPut, PostGet     return nothing; they end at Flush, which reports
//
// Complete means: later gets, and whoever synchronises with this rank through
// Weft, see a put; a get's result has arrived. Operations on one rank are not
// ordered unless Fence, Flush or completion is in between. docs/memory-model.md
// has the rules.
//
// Values are copied. A span's memory must stay as it is until the operation is
// complete (Async: waited for; Post: flushed). An aligned value of 1, 2, 4 or 8
// bytes is moved whole; words inside spans and larger values may be torn.
//
// A put takes a Rider (weft/rider.h) as its last argument: a notification or signal
// raised at its target once the data is visible there. A ride of a zero-length
// put is raised all the same.
//
// Errors: kOutOfRange, a null or bad address, nothing was moved; kUnavailable, a
// rank is dead (named), in doubt; kDeadlineExceeded; kFailedPrecondition, this
// process has not joined or is a fork of one that has.
//
// Any thread may call.
#ifndef WEFT_ACCESS_H_
#define WEFT_ACCESS_H_

#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weft/future.h"
#include "weft/internal/reach.h"
#include "weft/remote_ptr.h"
#include "weft/rider.h"

namespace weft {

template <typename T>
concept Transferable = std::is_trivially_copyable_v<T> && !std::is_const_v<T>;

// A single value is copied on the way; larger ones are put as spans.
template <typename T>
concept TransferableValue = Transferable<T> && sizeof(T) <= 16 * 1024;

namespace internal {

template <typename T>
inline bool StoreInline(const Reach& reach, RemotePtr<T> to, const T& value) {
  void* at;
  if constexpr (kIsWord<T>) {
    at = Resolve<sizeof(T)>(reach, to.bits());
  } else {
    at = ResolveBytes(reach, to.bits(), sizeof(T));
  }
  if (at == nullptr) [[unlikely]] {
    return false;
  }
  if constexpr (kIsWord<T>) {
    StoreWord(at, value);
  } else {
    std::memcpy(at, &value, sizeof(T));
  }
  return true;
}

template <typename T>
inline bool LoadInline(const Reach& reach, T& into, RemotePtr<T> from) {
  const void* at;
  if constexpr (kIsWord<T>) {
    at = Resolve<sizeof(T)>(reach, from.bits());
  } else {
    at = ResolveBytes(reach, from.bits(), sizeof(T));
  }
  if (at == nullptr) [[unlikely]] {
    return false;
  }
  if constexpr (kIsWord<T>) {
    into = LoadWord<T>(at);
  } else {
    std::memcpy(&into, at, sizeof(T));
  }
  return true;
}

template <typename T>
inline bool StoreInline(const Reach& reach, RemotePtr<T> to, std::span<const T> values) {
  void* at = ResolveBytes(reach, to.bits(), values.size_bytes());
  if (at == nullptr) [[unlikely]] {
    return false;
  }
  if (!values.empty()) std::memcpy(at, values.data(), values.size_bytes());
  return true;
}

template <typename T>
inline bool LoadInline(const Reach& reach, std::span<T> into, RemotePtr<T> from) {
  const void* at = ResolveBytes(reach, from.bits(), into.size_bytes());
  if (at == nullptr) [[unlikely]] {
    return false;
  }
  if (!into.empty()) std::memcpy(into.data(), at, into.size_bytes());
  return true;
}

// The public functions on the Reach of one rank. What only the slow path needs
// (a value in memory, an empty ride) is made there, not before the common case.

template <TransferableValue T>
inline absl::Status Put(const Reach& reach, RemotePtr<T> to, const T& value, const Rider& ride) {
  const bool rides = !ride.empty();
  if (StoreInline(reach, to, value)) [[likely]] {
    return rides ? Raise(reach, to.bits(), ride.spec()) : absl::OkStatus();
  }
  const T copy = value;
  return SlowPut(reach, to.bits(), &copy, sizeof(T), ride.spec_or_null());
}
template <Transferable T>
inline absl::Status Put(const Reach& reach, RemotePtr<T> to, std::span<const T> values,
                        const Rider& ride) {
  if (StoreInline(reach, to, values)) [[likely]] {
    return ride.empty() ? absl::OkStatus() : Raise(reach, to.bits(), ride.spec());
  }
  return SlowPut(reach, to.bits(), values.data(), values.size_bytes(), ride.spec_or_null());
}

template <TransferableValue T>
inline Future<> AsyncPut(const Reach& reach, RemotePtr<T> to, const T& value, const Rider& ride) {
  if (StoreInline(reach, to, value)) [[likely]] {
    if (ride.empty()) return Future<>(absl::OkStatus());
    return Future<>(AsyncRaise(reach, to.bits(), ride.spec()));
  }
  return Future<>(SlowAsyncPut(reach, to.bits(), &value, sizeof(T), ride.spec_or_null()));
}
template <Transferable T>
inline Future<> AsyncPut(const Reach& reach, RemotePtr<T> to, std::span<const T> values,
                         const Rider& ride) {
  if (StoreInline(reach, to, values)) [[likely]] {
    if (ride.empty()) return Future<>(absl::OkStatus());
    return Future<>(AsyncRaise(reach, to.bits(), ride.spec()));
  }
  return Future<>(
      SlowAsyncPut(reach, to.bits(), values.data(), values.size_bytes(), ride.spec_or_null()));
}

template <TransferableValue T>
inline void PostPut(const Reach& reach, RemotePtr<T> to, const T& value, const Rider& ride) {
  const bool rides = !ride.empty();
  if (!StoreInline(reach, to, value)) [[unlikely]] {
    const T copy = value;
    SlowPostPut(reach, to.bits(), &copy, sizeof(T), ride.spec_or_null());
  } else if (rides) {
    PostRaise(reach, to.bits(), ride.spec());
  }
}
template <Transferable T>
inline void PostPut(const Reach& reach, RemotePtr<T> to, std::span<const T> values,
                    const Rider& ride) {
  if (!StoreInline(reach, to, values)) [[unlikely]] {
    SlowPostPut(reach, to.bits(), values.data(), values.size_bytes(), ride.spec_or_null());
  } else if (!ride.empty()) {
    PostRaise(reach, to.bits(), ride.spec());
  }
}

template <TransferableValue T>
inline absl::StatusOr<T> Get(const Reach& reach, RemotePtr<T> from) {
  Uninitialized<T> into;
  if (!LoadInline(reach, into.value, from)) [[unlikely]] {
    absl::Status status = SlowGet(reach, &into.value, from.bits(), sizeof(T));
    if (!status.ok()) return status;
  }
  return into.value;
}
template <Transferable T>
inline absl::Status Get(const Reach& reach, RemotePtr<T> from, std::span<T> into) {
  if (LoadInline(reach, into, from)) [[likely]] {
    return absl::OkStatus();
  }
  return SlowGet(reach, into.data(), from.bits(), into.size_bytes());
}

template <TransferableValue T>
inline Future<T> AsyncGet(const Reach& reach, RemotePtr<T> from) {
  Uninitialized<T> into;
  if (LoadInline(reach, into.value, from)) [[likely]] {
    return Future<T>(absl::StatusOr<T>(into.value));
  }
  auto landing = std::make_unique<Uninitialized<T>>();
  auto pending = SlowAsyncGet(reach, &landing->value, from.bits(), sizeof(T));
  return Future<T>(std::move(landing), std::move(pending));
}
template <Transferable T>
inline Future<> AsyncGet(const Reach& reach, RemotePtr<T> from, std::span<T> into) {
  if (LoadInline(reach, into, from)) [[likely]] {
    return Future<>(absl::OkStatus());
  }
  return Future<>(SlowAsyncGet(reach, into.data(), from.bits(), into.size_bytes()));
}

template <Transferable T>
inline void PostGet(const Reach& reach, RemotePtr<T> from, std::span<T> into) {
  if (!LoadInline(reach, into, from)) [[unlikely]] {
    SlowPostGet(reach, into.data(), from.bits(), into.size_bytes());
  }
}

}  // namespace internal

// --- Blocking ------------------------------------------------------------------------

template <TransferableValue T>
inline absl::Status Put(RemotePtr<T> to, const std::type_identity_t<T>& value,
                        const Rider& ride = {}) {
  return internal::Put(internal::reach, to, value, ride);
}
template <Transferable T>
inline absl::Status Put(RemotePtr<T> to, std::span<const std::type_identity_t<T>> values,
                        const Rider& ride = {}) {
  return internal::Put<T>(internal::reach, to, values, ride);
}

template <TransferableValue T>
inline absl::StatusOr<T> Get(RemotePtr<T> from) {
  return internal::Get(internal::reach, from);
}
template <Transferable T>
inline absl::Status Get(RemotePtr<T> from, std::span<std::type_identity_t<T>> into) {
  return internal::Get<T>(internal::reach, from, into);
}

// --- Async ---------------------------------------------------------------------------

template <TransferableValue T>
inline Future<> AsyncPut(RemotePtr<T> to, const std::type_identity_t<T>& value,
                         const Rider& ride = {}) {
  return internal::AsyncPut(internal::reach, to, value, ride);
}
template <Transferable T>
inline Future<> AsyncPut(RemotePtr<T> to, std::span<const std::type_identity_t<T>> values,
                         const Rider& ride = {}) {
  return internal::AsyncPut<T>(internal::reach, to, values, ride);
}

template <TransferableValue T>
inline Future<T> AsyncGet(RemotePtr<T> from) {
  return internal::AsyncGet(internal::reach, from);
}
template <Transferable T>
inline Future<> AsyncGet(RemotePtr<T> from, std::span<std::type_identity_t<T>> into) {
  return internal::AsyncGet<T>(internal::reach, from, into);
}

// --- Posted --------------------------------------------------------------------------

template <TransferableValue T>
inline void PostPut(RemotePtr<T> to, const std::type_identity_t<T>& value, const Rider& ride = {}) {
  internal::PostPut(internal::reach, to, value, ride);
}
template <Transferable T>
inline void PostPut(RemotePtr<T> to, std::span<const std::type_identity_t<T>> values,
                    const Rider& ride = {}) {
  internal::PostPut<T>(internal::reach, to, values, ride);
}

template <Transferable T>
inline void PostGet(RemotePtr<T> from, std::span<std::type_identity_t<T>> into) {
  internal::PostGet<T>(internal::reach, from, into);
}

}  // namespace weft
#endif  // WEFT_ACCESS_H_
