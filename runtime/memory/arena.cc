#include "runtime/memory/arena.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_format.h"

namespace weft {

Arena::Arena(uint64_t begin, uint64_t end) : begin_(begin), end_(end), touched_end_(begin) {
  if (begin < end) AddFree(begin, end - begin);
}

absl::StatusOr<Arena::Block> Arena::Allocate(uint64_t bytes, uint64_t alignment) {
  if (!std::has_single_bit(alignment) || alignment > kMaxAlignment) {
    return absl::InvalidArgumentError(
        absl::StrFormat("alignment %u is not a power of two up to %u", alignment, kMaxAlignment));
  }
  alignment = std::max(alignment, kAlignment);
  if (bytes <= capacity()) {
    const uint64_t length =
        std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    for (auto it = free_by_size_.lower_bound({length, 0}); it != free_by_size_.end(); ++it) {
      const auto [size, offset] = *it;
      const uint64_t start = (offset + alignment - 1) / alignment * alignment;
      if (start - offset > size - length) continue;
      RemoveFree(offset, size);
      if (start > offset) AddFree(offset, start - offset);
      if (offset + size > start + length) AddFree(start + length, offset + size - start - length);
      allocated_[start] = length;
      const uint64_t dirty = start < touched_end_ ? std::min(length, touched_end_ - start) : 0;
      touched_end_ = std::max(touched_end_, start + length);
      return Block{.offset = start, .bytes = length, .dirty = dirty};
    }
  }
  const uint64_t largest = free_by_size_.empty() ? 0 : free_by_size_.rbegin()->first;
  return absl::ResourceExhaustedError(
      absl::StrFormat("%u bytes do not fit: %u of %u bytes are free, the largest piece has %u",
                      bytes, free_bytes_, capacity(), largest));
}

absl::Status Arena::Free(uint64_t offset) {
  const auto it = allocated_.find(offset);
  if (it == allocated_.end()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "no allocated block starts at offset %u: it was freed before, or never allocated here",
        offset));
  }
  uint64_t start = it->first;
  uint64_t bytes = it->second;
  allocated_.erase(it);
  auto next = free_.lower_bound(start);
  if (next != free_.end() && next->first == start + bytes) {
    const auto [next_offset, next_bytes] = *next;
    RemoveFree(next_offset, next_bytes);
    bytes += next_bytes;
  }
  auto previous = free_.lower_bound(start);
  if (previous != free_.begin()) {
    --previous;
    const auto [previous_offset, previous_bytes] = *previous;
    if (previous_offset + previous_bytes == start) {
      RemoveFree(previous_offset, previous_bytes);
      start = previous_offset;
      bytes += previous_bytes;
    }
  }
  AddFree(start, bytes);
  return absl::OkStatus();
}

void Arena::AddFree(uint64_t offset, uint64_t bytes) {
  free_[offset] = bytes;
  free_by_size_.insert({bytes, offset});
  free_bytes_ += bytes;
}

void Arena::RemoveFree(uint64_t offset, uint64_t bytes) {
  free_.erase(offset);
  free_by_size_.erase({bytes, offset});
  free_bytes_ -= bytes;
}

}  // namespace weft
