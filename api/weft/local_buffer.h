// LocalBuffer<T>: memory of this process that long puts and gets move from and to without
// a copy, whatever they go through.
#ifndef WEFT_LOCAL_BUFFER_H_
#define WEFT_LOCAL_BUFFER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "weft/access.h"
#include "weft/team.h"

namespace weft {

namespace internal {

// The bytes of one. Memory that a device has registered, if operations go through one.
class LocalBlock {
 public:
  static absl::StatusOr<LocalBlock> Create(const Team& team, size_t count, size_t size);
  LocalBlock(LocalBlock&& other) noexcept;
  LocalBlock& operator=(LocalBlock&& other) noexcept;
  ~LocalBlock() { Release(); }

  std::byte* get() const { return bytes_.data(); }

 private:
  LocalBlock(std::shared_ptr<Runtime> runtime, std::span<std::byte> bytes)
      : runtime_(std::move(runtime)), bytes_(bytes) {}
  void Release();

  std::shared_ptr<Runtime> runtime_;  // Null when moved from.
  std::span<std::byte> bytes_;
};

}  // namespace internal

// Memory of the heap (Symmetric, Allocate) moves as directly; any other memory is copied
// through runtime memory on its way over RDMA, which costs a device's speed some of it.
// Move-only. Destruction waits for the operations on it, at most the operations' deadline,
// and ends those that are not over then: kUnavailable, in doubt. One thread at a time may
// create, move and destroy it; its memory is ordinary memory.
template <Transferable T>
class LocalBuffer {
 public:
  // Room for `count` objects, zeroed, at the start of a page. Not collective. Registers the
  // memory, which takes milliseconds and pins it: do so beforehand, not in a loop.
  // kResourceExhausted says what limits it.
  static absl::StatusOr<LocalBuffer> Create(const Team& team, size_t count) {
    auto block = internal::LocalBlock::Create(team, count, sizeof(T));
    if (!block.ok()) return block.status();
    return LocalBuffer(*std::move(block), count);
  }

  size_t size() const { return count_; }
  T* data() const { return reinterpret_cast<T*>(block_.get()); }
  T& operator[](size_t index) const { return data()[index]; }
  std::span<T> span() const { return {data(), count_}; }

 private:
  LocalBuffer(internal::LocalBlock block, size_t count) : block_(std::move(block)), count_(count) {}

  internal::LocalBlock block_;
  size_t count_;
};

}  // namespace weft
#endif  // WEFT_LOCAL_BUFFER_H_
