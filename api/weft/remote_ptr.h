// RemotePtr<T>: where a T lies in the global heap.
//
// One trivially copyable word, rank and offset, so that a RemotePtr can itself
// be stored in the global heap, and compare-swapped there. It means the same on
// every rank. Remote access is always spelt out (Put, Get, ...): there is no
// implicit dereference.
#ifndef WEFT_REMOTE_PTR_H_
#define WEFT_REMOTE_PTR_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "weft/internal/address.h"
#include "weft/internal/reach.h"
#include "weft/rank.h"

namespace weft {

template <typename T>
class RemotePtr {
 public:
  using element_type = T;

  // Null.
  constexpr RemotePtr() = default;
  constexpr RemotePtr(std::nullptr_t) {}
  // `offset` in bytes from the start of the slab of `rank`.
  constexpr RemotePtr(Rank rank, uint64_t offset) : bits_(internal::EncodeAddress(rank, offset)) {
    // Not in the class, so that a T may hold a RemotePtr<T>.
    static_assert(std::is_trivially_copyable_v<T>,
                  "only trivially copyable types can live in the global heap");
  }

  // Not of null.
  constexpr Rank rank() const { return internal::RankOf(bits_); }
  constexpr uint64_t offset() const { return internal::OffsetOf(bits_); }
  constexpr explicit operator bool() const { return bits_ != 0; }

  // Arithmetic counts in T and stays on the rank: it wraps within 48 bits.
  constexpr RemotePtr& operator+=(ptrdiff_t n) {
    bits_ = (bits_ & ~internal::kOffsetMask) |
            ((bits_ + static_cast<uint64_t>(n) * sizeof(T)) & internal::kOffsetMask);
    return *this;
  }
  constexpr RemotePtr& operator-=(ptrdiff_t n) { return *this += -n; }
  constexpr RemotePtr& operator++() { return *this += 1; }
  constexpr RemotePtr& operator--() { return *this += -1; }
  friend constexpr RemotePtr operator+(RemotePtr p, ptrdiff_t n) { return p += n; }
  friend constexpr RemotePtr operator-(RemotePtr p, ptrdiff_t n) { return p += -n; }
  // Both on one rank.
  friend constexpr ptrdiff_t operator-(RemotePtr a, RemotePtr b) {
    return static_cast<ptrdiff_t>(a.offset() - b.offset()) / static_cast<ptrdiff_t>(sizeof(T));
  }
  friend constexpr auto operator<=>(RemotePtr, RemotePtr) = default;

  // The word itself, and back: to pack it into larger structures.
  constexpr uint64_t bits() const { return bits_; }
  static constexpr RemotePtr FromBits(uint64_t bits) {
    RemotePtr p;
    p.bits_ = bits;
    return p;
  }

  // The address of the U that starts `byte_offset` bytes behind this: with
  // offsetof, of a member.
  template <typename U>
  constexpr RemotePtr<U> As(uint64_t byte_offset = 0) const {
    return RemotePtr<U>::FromBits((bits_ & ~internal::kOffsetMask) |
                                  ((bits_ + byte_offset) & internal::kOffsetMask));
  }

 private:
  uint64_t bits_ = 0;
};
static_assert(sizeof(RemotePtr<int>) == 8 && std::is_trivially_copyable_v<RemotePtr<int>>);

// The memory behind `p` if this process has it mapped (its own slab, or one of the
// same node), null otherwise. Valid until the memory is freed or this process
// leaves. Do not mix plain access with atomics on one word.
template <typename T>
T* Local(RemotePtr<T> p) {
  return static_cast<T*>(internal::LocalAddress(internal::reach, p.bits(), sizeof(T)));
}

}  // namespace weft
#endif  // WEFT_REMOTE_PTR_H_
