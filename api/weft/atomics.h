// Atomics on words of the global heap, 4 or 8 bytes: they exclude each other
// whoever issues them, the owner included.
//
//   FetchAdd ...        returns a StatusOr with the old value, complete
//   AsyncFetchAdd ...   returns a Future
//   PostAdd ...         returns nothing and ends at Flush
//
// Sequentially consistent among each other on one node. They are not ordered
// with plain puts to the same word: mixing the two on one word is a program
// error; Set and Fetch are the atomic write and read. A 4-byte atomic owns its
// aligned 8 bytes.
//
// Errors as in weft/access.h, and kInvalidArgument for a misaligned address. An
// atomic that a failure cut off is in doubt; the runtime never repeats it.
// Any thread may call.
#ifndef WEFT_ATOMICS_H_
#define WEFT_ATOMICS_H_

#include <memory>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weft/future.h"
#include "weft/internal/reach.h"
#include "weft/remote_ptr.h"

namespace weft {

// What can be swapped: integers, enums, RemotePtr, small structs without padding.
template <typename T>
concept AtomicValue = std::is_trivially_copyable_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8) &&
                      std::has_unique_object_representations_v<T> && !std::is_const_v<T>;

// What can be added to.
template <typename T>
concept AtomicInteger = AtomicValue<T> && std::is_integral_v<T>;

namespace internal {

template <AtomicValue T>
inline AtomicSpec Spec(AtomicKind kind, RemotePtr<T> at, T operand = {}, T compare = {}) {
  using Word = typename WordOf<sizeof(T)>::type;
  return {.kind = kind,
          .bytes = sizeof(T),
          .at = at.bits(),
          .operand = std::bit_cast<Word>(operand),
          .compare = std::bit_cast<Word>(compare)};
}

// Carries `kind` out on memory that this process reaches; false where it does not.
template <AtomicKind kind, AtomicValue T>
inline bool AtomicInline(const Reach& reach, RemotePtr<T> at, T operand, T compare, T& old) {
  using Word = typename WordOf<sizeof(T)>::type;
  auto* word = static_cast<Word*>(ResolveAtomic<sizeof(T)>(reach, at.bits()));
  if (word == nullptr) [[unlikely]] {
    return false;
  }
  const Word value = std::bit_cast<Word>(operand);
  Word before = std::bit_cast<Word>(compare);
  if constexpr (kind == AtomicKind::kAdd) {
    before = __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
  } else if constexpr (kind == AtomicKind::kCompareSwap) {
    __atomic_compare_exchange_n(word, &before, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  } else if constexpr (kind == AtomicKind::kSwap) {
    before = __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
  } else if constexpr (kind == AtomicKind::kFetch) {
    before = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  } else if constexpr (kind == AtomicKind::kSet) {
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
  } else if constexpr (kind == AtomicKind::kAnd) {
    before = __atomic_fetch_and(word, value, __ATOMIC_SEQ_CST);
  } else if constexpr (kind == AtomicKind::kOr) {
    before = __atomic_fetch_or(word, value, __ATOMIC_SEQ_CST);
  } else {
    static_assert(kind == AtomicKind::kXor);
    before = __atomic_fetch_xor(word, value, __ATOMIC_SEQ_CST);
  }
  old = std::bit_cast<T>(before);
  return true;
}

template <AtomicKind kind, AtomicValue T>
inline absl::StatusOr<T> Atomic(const Reach& reach, RemotePtr<T> at, T operand = {},
                                T compare = {}) {
  T old{};
  if (!AtomicInline<kind>(reach, at, operand, compare, old)) [[unlikely]] {
    absl::Status status = SlowAtomic(reach, Spec(kind, at, operand, compare), &old);
    if (!status.ok()) return status;
  }
  return old;
}

template <AtomicKind kind, AtomicValue T>
inline Future<T> AsyncAtomic(const Reach& reach, RemotePtr<T> at, T operand = {}, T compare = {}) {
  T old{};
  if (AtomicInline<kind>(reach, at, operand, compare, old)) [[likely]] {
    return Future<T>(absl::StatusOr<T>(old));
  }
  auto landing = std::make_unique<Uninitialized<T>>();
  auto pending = SlowAsyncAtomic(reach, Spec(kind, at, operand, compare), &landing->value);
  return Future<T>(std::move(landing), std::move(pending));
}

template <AtomicKind kind, AtomicValue T>
inline void PostAtomic(const Reach& reach, RemotePtr<T> at, T operand) {
  T old;
  if (!AtomicInline<kind>(reach, at, operand, T{}, old)) [[unlikely]] {
    SlowPostAtomic(reach, Spec(kind, at, operand));
  }
}

}  // namespace internal

// --- Blocking: the old value ---------------------------------------------------------

template <AtomicInteger T>
inline absl::StatusOr<T> FetchAdd(RemotePtr<T> at, std::type_identity_t<T> addend) {
  return internal::Atomic<internal::AtomicKind::kAdd>(internal::reach, at, addend);
}
// Stores `desired` iff the word equals `expected`, which the returned value tells.
template <AtomicValue T>
inline absl::StatusOr<T> CompareSwap(RemotePtr<T> at, std::type_identity_t<T> expected,
                                     std::type_identity_t<T> desired) {
  return internal::Atomic<internal::AtomicKind::kCompareSwap>(internal::reach, at, desired,
                                                              expected);
}
template <AtomicValue T>
inline absl::StatusOr<T> Swap(RemotePtr<T> at, std::type_identity_t<T> value) {
  return internal::Atomic<internal::AtomicKind::kSwap>(internal::reach, at, value);
}
template <AtomicValue T>
inline absl::StatusOr<T> Fetch(RemotePtr<T> at) {
  return internal::Atomic<internal::AtomicKind::kFetch>(internal::reach, at);
}
template <AtomicValue T>
inline absl::Status Set(RemotePtr<T> at, std::type_identity_t<T> value) {
  return internal::Atomic<internal::AtomicKind::kSet>(internal::reach, at, value).status();
}
template <AtomicInteger T>
inline absl::StatusOr<T> FetchAnd(RemotePtr<T> at, std::type_identity_t<T> mask) {
  return internal::Atomic<internal::AtomicKind::kAnd>(internal::reach, at, mask);
}
template <AtomicInteger T>
inline absl::StatusOr<T> FetchOr(RemotePtr<T> at, std::type_identity_t<T> mask) {
  return internal::Atomic<internal::AtomicKind::kOr>(internal::reach, at, mask);
}
template <AtomicInteger T>
inline absl::StatusOr<T> FetchXor(RemotePtr<T> at, std::type_identity_t<T> mask) {
  return internal::Atomic<internal::AtomicKind::kXor>(internal::reach, at, mask);
}

// --- Async -----------------------------------------------------------------------------

template <AtomicInteger T>
inline Future<T> AsyncFetchAdd(RemotePtr<T> at, std::type_identity_t<T> addend) {
  return internal::AsyncAtomic<internal::AtomicKind::kAdd>(internal::reach, at, addend);
}
template <AtomicValue T>
inline Future<T> AsyncCompareSwap(RemotePtr<T> at, std::type_identity_t<T> expected,
                                  std::type_identity_t<T> desired) {
  return internal::AsyncAtomic<internal::AtomicKind::kCompareSwap>(internal::reach, at, desired,
                                                                   expected);
}
template <AtomicValue T>
inline Future<T> AsyncSwap(RemotePtr<T> at, std::type_identity_t<T> value) {
  return internal::AsyncAtomic<internal::AtomicKind::kSwap>(internal::reach, at, value);
}
template <AtomicValue T>
inline Future<T> AsyncFetch(RemotePtr<T> at) {
  return internal::AsyncAtomic<internal::AtomicKind::kFetch>(internal::reach, at);
}

// --- Posted ----------------------------------------------------------------------------

template <AtomicInteger T>
inline void PostAdd(RemotePtr<T> at, std::type_identity_t<T> addend) {
  internal::PostAtomic<internal::AtomicKind::kAdd>(internal::reach, at, addend);
}
template <AtomicValue T>
inline void PostSet(RemotePtr<T> at, std::type_identity_t<T> value) {
  internal::PostAtomic<internal::AtomicKind::kSet>(internal::reach, at, value);
}
template <AtomicInteger T>
inline void PostAnd(RemotePtr<T> at, std::type_identity_t<T> mask) {
  internal::PostAtomic<internal::AtomicKind::kAnd>(internal::reach, at, mask);
}
template <AtomicInteger T>
inline void PostOr(RemotePtr<T> at, std::type_identity_t<T> mask) {
  internal::PostAtomic<internal::AtomicKind::kOr>(internal::reach, at, mask);
}
template <AtomicInteger T>
inline void PostXor(RemotePtr<T> at, std::type_identity_t<T> mask) {
  internal::PostAtomic<internal::AtomicKind::kXor>(internal::reach, at, mask);
}

}  // namespace weft
#endif  // WEFT_ATOMICS_H_
