#include "runtime/engine/staging.h"

#include <functional>

namespace weft {

StagingPool::Buffers::Buffers(size_t bytes, size_t count)
    : bytes_(bytes),
      count_(count),
      memory_(std::make_unique_for_overwrite<std::byte[]>(bytes * count)) {}

bool StagingPool::Buffers::Owns(const std::byte* buffer) const {
  const std::less_equal<const std::byte*> not_after;
  return not_after(memory_.get(), buffer) && !not_after(memory_.get() + bytes_ * count_, buffer);
}

absl::Status StagingPool::Buffers::Register(Transport& transport) {
  if (registration_ != nullptr) return absl::OkStatus();
  auto registration = transport.Register(
      {.kind = Segment::Kind::kLocal, .bytes = {memory_.get(), bytes_ * count_}});
  if (!registration.ok()) return registration.status();
  registration_ = *std::move(registration);
  key_ = registration_->local_key();
  return absl::OkStatus();
}

absl::Status StagingPool::Register(Transport& transport) {
  absl::Status status = small_.Register(transport);
  status.Update(large_.Register(transport));
  status.Update(bounce_.Register(transport));
  return status;
}

std::byte* StagingPool::Allocate(size_t bytes) {
  if (bytes <= kSmallBytes) {
    if (std::byte* const buffer = small_.Allocate()) return buffer;
  }
  return bytes <= kLargeBytes ? large_.Allocate() : nullptr;
}

StagingPool::Buffers& StagingPool::SetOf(const std::byte* buffer) {
  return small_.Owns(buffer) ? small_ : large_.Owns(buffer) ? large_ : bounce_;
}

void StagingPool::Free(std::byte* buffer) { SetOf(buffer).Free(buffer); }

}  // namespace weft
