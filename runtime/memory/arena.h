// An allocator of offsets: hands out parts of a range without touching it.
//
// What it knows lies in this process's own memory, never in the range, which
// other ranks can write. Best fit over ordered free blocks, neighbours merged.
// Deterministic: arenas that see the same calls give the same offsets, which is
// what keeps symmetric objects symmetric. Not thread-safe; its owner locks.
#ifndef WEFT_RUNTIME_MEMORY_ARENA_H_
#define WEFT_RUNTIME_MEMORY_ARENA_H_

#include <cstdint>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft {

class Arena {
 public:
  // Blocks start at multiples of this and are as long as a multiple of it: no
  // two objects share a cache line.
  static constexpr uint64_t kAlignment = 64;
  static constexpr uint64_t kMaxAlignment = 4096;

  // Manages [begin, end), both multiples of kMaxAlignment.
  Arena(uint64_t begin, uint64_t end);

  struct Block {
    uint64_t offset;
    uint64_t bytes;  // At least what was asked for.
    uint64_t dirty;  // The first so many bytes were in use before; the rest is as new.
  };

  // Zero bytes give a block of their own all the same. `alignment` is a power of
  // two up to kMaxAlignment. kResourceExhausted says what is left.
  absl::StatusOr<Block> Allocate(uint64_t bytes, uint64_t alignment);

  // kInvalidArgument when no allocated block starts at `offset`: a double free,
  // or a pointer that was never handed out.
  absl::Status Free(uint64_t offset);

  uint64_t capacity() const { return end_ - begin_; }
  uint64_t free_bytes() const { return free_bytes_; }

 private:
  void AddFree(uint64_t offset, uint64_t bytes);
  void RemoveFree(uint64_t offset, uint64_t bytes);

  uint64_t begin_;
  uint64_t end_;
  uint64_t free_bytes_ = 0;
  uint64_t touched_end_;                           // Nothing from here on was ever handed out.
  absl::btree_map<uint64_t, uint64_t> allocated_;  // offset -> bytes
  absl::btree_map<uint64_t, uint64_t> free_;       // offset -> bytes
  absl::btree_set<std::pair<uint64_t, uint64_t>> free_by_size_;  // (bytes, offset)
};

}  // namespace weft
#endif  // WEFT_RUNTIME_MEMORY_ARENA_H_
