#include "weft/local_buffer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/world/runtime.h"

namespace weft::internal {

absl::StatusOr<LocalBlock> LocalBlock::Create(const Team& team, size_t count, size_t size) {
  const std::shared_ptr<Runtime>& runtime = team.runtime();
  if (absl::Status usable = runtime->Usable(); !usable.ok()) return usable;
  size_t bytes;
  void* const memory = __builtin_mul_overflow(count, size, &bytes)
                           ? MAP_FAILED
                           : mmap(nullptr, bytes + (bytes == 0), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("a LocalBuffer of ", count, " objects of ",
                                                     size, " bytes on rank ", runtime->rank(), ": ",
                                                     strerror(errno)));
  }
  LocalBlock block(runtime, {static_cast<std::byte*>(memory), bytes});
  absl::Status registered = runtime->engine().Register(block.bytes_);
  if (registered.ok()) return block;
  return absl::Status(registered.code(), absl::StrCat("a LocalBuffer of ", bytes, " bytes on rank ",
                                                      runtime->rank(), ": ", registered.message()));
}

LocalBlock::LocalBlock(LocalBlock&& other) noexcept
    : runtime_(std::move(other.runtime_)), bytes_(other.bytes_) {}

LocalBlock& LocalBlock::operator=(LocalBlock&& other) noexcept {
  if (this != &other) {
    Release();
    runtime_ = std::move(other.runtime_);
    bytes_ = other.bytes_;
  }
  return *this;
}

void LocalBlock::Release() {
  if (runtime_ == nullptr) return;
  // A forked child has its parent's Engine only in memory. After Leave nothing is under way.
  if (!runtime_->forked()) {
    runtime_->engine().Unregister(bytes_, runtime_->OperationDeadline());
  }
  munmap(bytes_.data(), bytes_.size() + bytes_.empty());
  runtime_ = nullptr;
}

}  // namespace weft::internal
