// Runtime memory that stands for the caller's while an operation is under way,
// so that one that is late never touches the caller's. Two bounded sets of
// buffers, of one size each; a buffer's memory is committed when first used.
//
// Owns the buffers. Not thread-safe: guarded by the Engine's lock.
#ifndef WEFT_RUNTIME_ENGINE_STAGING_H_
#define WEFT_RUNTIME_ENGINE_STAGING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft {

class StagingPool {
 public:
  static constexpr size_t kSmallBytes = 256;
  static constexpr size_t kSmallBuffers = 2048;
  static constexpr size_t kLargeBytes = 16 * 1024;
  static constexpr size_t kLargeBuffers = 128;

  // A buffer of at least `bytes`, at most kLargeBytes; null when none is free.
  std::byte* Allocate(size_t bytes);
  void Free(std::byte* buffer);

 private:
  class Buffers {
   public:
    Buffers(size_t bytes, size_t count);
    std::byte* Allocate();
    bool Owns(const std::byte* buffer) const;
    void Free(std::byte* buffer) { free_.push_back(buffer); }

   private:
    const size_t bytes_;
    const size_t count_;
    const std::unique_ptr<std::byte[]> memory_;
    size_t touched_ = 0;  // Buffers below were handed out before.
    std::vector<std::byte*> free_;
  };

  Buffers small_{kSmallBytes, kSmallBuffers};
  Buffers large_{kLargeBytes, kLargeBuffers};
};

}  // namespace weft
#endif  // WEFT_RUNTIME_ENGINE_STAGING_H_
