#include "runtime/transport/move.h"

#include <atomic>
#include <cstring>

namespace weft {
namespace {

bool Aligned(const std::byte* p, uint64_t length) {
  return reinterpret_cast<uintptr_t>(p) % length == 0;
}

template <typename T>
std::atomic_ref<T> Word(const std::byte* shared) {
  return std::atomic_ref<T>(*reinterpret_cast<T*>(const_cast<std::byte*>(shared)));
}

template <typename T>
void StoreOne(std::byte* shared, const void* local) {
  T value;
  std::memcpy(&value, local, sizeof(T));
  Word<T>(shared).store(value, std::memory_order_relaxed);
}

template <typename T>
void LoadOne(void* local, const std::byte* shared) {
  const T value = Word<T>(shared).load(std::memory_order_relaxed);
  std::memcpy(local, &value, sizeof(T));
}

}  // namespace

void CopyToShared(std::byte* shared, const void* local, uint64_t length) {
  if (length == 0) return;
  if (length <= 8 && Aligned(shared, length)) {
    switch (length) {
      case 1:
        return StoreOne<uint8_t>(shared, local);
      case 2:
        return StoreOne<uint16_t>(shared, local);
      case 4:
        return StoreOne<uint32_t>(shared, local);
      case 8:
        return StoreOne<uint64_t>(shared, local);
      default:
        break;
    }
  }
  std::memmove(shared, local, length);
}

void CopyFromShared(void* local, const std::byte* shared, uint64_t length) {
  if (length == 0) return;
  if (length <= 8 && Aligned(shared, length)) {
    switch (length) {
      case 1:
        return LoadOne<uint8_t>(local, shared);
      case 2:
        return LoadOne<uint16_t>(local, shared);
      case 4:
        return LoadOne<uint32_t>(local, shared);
      case 8:
        return LoadOne<uint64_t>(local, shared);
      default:
        break;
    }
  }
  std::memmove(local, shared, length);
}

}  // namespace weft
