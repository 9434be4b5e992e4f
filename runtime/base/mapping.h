// A memory mapping that unmaps itself. Owned by one thread at a time.
#ifndef WEFT_RUNTIME_BASE_MAPPING_H_
#define WEFT_RUNTIME_BASE_MAPPING_H_

#include <sys/mman.h>

#include <cstddef>
#include <utility>

namespace weft {

class Mapping {
 public:
  Mapping() = default;
  Mapping(void* address, size_t bytes)
      : address_(static_cast<std::byte*>(address)), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (address_ != nullptr) munmap(address_, bytes_);
  }

  std::byte* get() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* address_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_MAPPING_H_
