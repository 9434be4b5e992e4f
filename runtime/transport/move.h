// Moving bytes within memory that this process can load: plain copies, and single
// values that are never torn. Any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_MOVE_H_
#define WEFT_RUNTIME_TRANSPORT_MOVE_H_

#include <cstddef>
#include <cstdint>

namespace weft {

// Copies `length` bytes; an aligned `shared` of 1, 2, 4 or 8 bytes is written
// (read) by one access. Both may overlap. Nulls are fine when `length` is 0.
void CopyToShared(std::byte* shared, const void* local, uint64_t length);
void CopyFromShared(void* local, const std::byte* shared, uint64_t length);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_MOVE_H_
