#include "runtime/bootstrap/lone_bootstrap.h"

#include <cstdio>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/bootstrap/key_value.h"

namespace weft {

absl::StatusOr<std::optional<NodeFds>> LoneBootstrap::ShareMemory(const MemoryShape&, Deadline) {
  return std::nullopt;
}

absl::Status LoneBootstrap::Put(std::string_view key, std::string_view value) {
  if (absl::Status status = CheckKeyAndValue(key, value); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  if (!store_.emplace(key, value).second) {
    return absl::AlreadyExistsError(
        absl::StrCat("rank 0 has put the key \"", absl::CEscape(std::string(key)), "\" already"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> LoneBootstrap::Get(std::string_view key, Deadline) {
  if (absl::Status status = CheckKey(key); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  const auto entry = store_.find(key);
  if (entry == store_.end()) return NoSuchKey(key);
  return entry->second;
}

absl::Status LoneBootstrap::Fence(Deadline) { return absl::OkStatus(); }

absl::Status LoneBootstrap::Leave() { return absl::OkStatus(); }

void LoneBootstrap::Abort(int code, std::string_view message) {
  std::fprintf(stderr, "weft: rank 0 aborted the job with status %d: %.*s\n", code,
               static_cast<int>(message.size()), message.data());
}

}  // namespace weft
