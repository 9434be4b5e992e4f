// Runtime memory that stands for the caller's while an operation is under way,
// so that one that is late never touches the caller's, and so that a transport
// that reaches only registered memory reaches it. Bounded sets of buffers, of one
// size each; a buffer's memory is committed when first used, or registered.
//
// Owns the buffers. Not thread-safe: guarded by the Engine's lock.
#ifndef WEFT_RUNTIME_ENGINE_STAGING_H_
#define WEFT_RUNTIME_ENGINE_STAGING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "runtime/transport/transport.h"

namespace weft {

class StagingPool {
 public:
  static constexpr size_t kSmallBytes = 256;
  static constexpr size_t kSmallBuffers = 2048;
  static constexpr size_t kLargeBytes = 16 * 1024;
  static constexpr size_t kLargeBuffers = 128;
  // For the pieces of what is longer, where it lies in memory that is not registered.
  static constexpr size_t kBounceBytes = 256 * 1024;
  static constexpr size_t kBounceBuffers = 16;

  // Makes `transport` reach all buffers, from now on.
  absl::Status Register(Transport& transport);

  // A buffer of at least `bytes`, at most kLargeBytes; null when none is free.
  std::byte* Allocate(size_t bytes);
  std::byte* AllocateBounce() { return bounce_.Allocate(); }
  // What Allocate will return for at most kSmallBytes, as long as there are small ones; or null.
  std::byte* NextSmall() const { return small_.Next(); }
  uint32_t small_key() const { return small_.key(); }
  void Free(std::byte* buffer);
  // For Op::local_key; 0 where nothing was registered.
  uint32_t KeyOf(const std::byte* buffer) { return SetOf(buffer).key(); }

 private:
  class Buffers {
   public:
    Buffers(size_t bytes, size_t count);
    absl::Status Register(Transport& transport);
    std::byte* Next() const {
      if (!free_.empty()) return free_.back();
      return touched_ < count_ ? memory_.get() + bytes_ * touched_ : nullptr;
    }
    std::byte* Allocate() {
      std::byte* const buffer = Next();
      if (!free_.empty()) {
        free_.pop_back();
      } else if (buffer != nullptr) {
        ++touched_;
      }
      return buffer;
    }
    bool Owns(const std::byte* buffer) const;
    uint32_t key() const { return key_; }
    void Free(std::byte* buffer) { free_.push_back(buffer); }

   private:
    const size_t bytes_;
    const size_t count_;
    const std::unique_ptr<std::byte[]> memory_;
    std::unique_ptr<Registration> registration_;
    uint32_t key_ = 0;
    size_t touched_ = 0;  // Buffers below were handed out before.
    std::vector<std::byte*> free_;
  };

  Buffers& SetOf(const std::byte* buffer);

  Buffers small_{kSmallBytes, kSmallBuffers};
  Buffers large_{kLargeBytes, kLargeBuffers};
  Buffers bounce_{kBounceBytes, kBounceBuffers};
};

}  // namespace weft
#endif  // WEFT_RUNTIME_ENGINE_STAGING_H_
