// Memory of this rank's slab, for objects that only some ranks need.
#ifndef WEFT_ALLOCATE_H_
#define WEFT_ALLOCATE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weft/access.h"
#include "weft/internal/reach.h"
#include "weft/remote_ptr.h"

namespace weft {

namespace internal {
absl::StatusOr<uint64_t> AllocateLocal(const Reach& reach, size_t count, size_t size,
                                       size_t alignment);
absl::Status FreeLocal(const Reach& reach, uint64_t bits);
}  // namespace internal

// Room for `count` objects (zero is allowed) on this rank, on cache lines of its
// own, not initialised. Not collective, never blocks. kResourceExhausted: the
// local part of the slab is full (World::Options::local_bytes). Any thread may call.
template <Transferable T>
absl::StatusOr<RemotePtr<T>> Allocate(size_t count = 1) {
  auto bits = internal::AllocateLocal(internal::reach, count, sizeof(T), alignof(T));
  if (!bits.ok()) return bits.status();
  return RemotePtr<T>::FromBits(*bits);
}

// Gives back what Allocate on this rank returned. The caller makes sure that no
// operation on it is under way anywhere. kInvalidArgument, and nothing happens:
// another rank's pointer, one that Allocate did not return, or freed already.
// Null is allowed.
template <Transferable T>
absl::Status Free(RemotePtr<T> p) {
  return internal::FreeLocal(internal::reach, p.bits());
}

}  // namespace weft
#endif  // WEFT_ALLOCATE_H_
