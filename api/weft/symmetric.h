// Symmetric<T>: an array at the same place on every rank.
#ifndef WEFT_SYMMETRIC_H_
#define WEFT_SYMMETRIC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "weft/access.h"
#include "weft/rank.h"
#include "weft/remote_ptr.h"
#include "weft/team.h"

namespace weft {

namespace internal {

// A symmetric block, released when destroyed.
class SymmetricBlock {
 public:
  static absl::StatusOr<SymmetricBlock> Create(const Team& team, size_t count, size_t size,
                                               size_t alignment);
  SymmetricBlock(SymmetricBlock&& other) noexcept = default;
  SymmetricBlock& operator=(SymmetricBlock&& other) noexcept;
  ~SymmetricBlock() { Release(); }

  uint64_t offset() const { return offset_; }
  std::byte* mine() const { return mine_; }

 private:
  SymmetricBlock(std::shared_ptr<Runtime> runtime, uint32_t id, uint64_t offset, std::byte* mine)
      : runtime_(std::move(runtime)), id_(id), offset_(offset), mine_(mine) {}
  void Release();

  std::shared_ptr<Runtime> runtime_;  // Null when moved from.
  uint32_t id_;
  uint64_t offset_;
  std::byte* mine_;
};

}  // namespace internal

// Move-only. Destruction marks it released on this rank, without blocking; the
// space is reused by a later Create once all ranks have released it.
template <Transferable T>
class Symmetric {
 public:
  // `count` objects (the same on all ranks; zero is allowed) on each rank of the
  // team, zeroed. Collective and a barrier, with a barrier's deadline and errors;
  // kInvalidArgument on all ranks when their calls do not match, naming a rank;
  // kResourceExhausted on all ranks.
  static absl::StatusOr<Symmetric> Create(const Team& team, size_t count = 1) {
    auto block = internal::SymmetricBlock::Create(team, count, sizeof(T), alignof(T));
    if (!block.ok()) return block.status();
    return Symmetric(*std::move(block), count);
  }

  // Objects on each rank.
  size_t size() const { return count_; }

  // Where object `index` of `rank` lies. Not checked: access is.
  RemotePtr<T> at(Rank rank, size_t index = 0) const {
    return RemotePtr<T>(rank, block_.offset() + index * sizeof(T));
  }

  // This rank's objects as ordinary memory. Reading what others write needs
  // synchronisation through Weft in between.
  std::span<T> mine() const { return {reinterpret_cast<T*>(block_.mine()), count_}; }

 private:
  Symmetric(internal::SymmetricBlock block, size_t count)
      : block_(std::move(block)), count_(count) {}

  internal::SymmetricBlock block_;
  size_t count_;
};

}  // namespace weft
#endif  // WEFT_SYMMETRIC_H_
