#include "runtime/bootstrap/key_value.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "runtime/bootstrap/bootstrap.h"

namespace weft {

absl::Status CheckKey(std::string_view key) {
  if (!key.empty() && key.size() <= Bootstrap::kMaxKeyBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("a key of %d bytes; it must have 1 to %d",
                                                    key.size(), size_t{Bootstrap::kMaxKeyBytes}));
}

absl::Status CheckKeyAndValue(std::string_view key, std::string_view value) {
  if (absl::Status status = CheckKey(key); !status.ok()) return status;
  if (value.size() <= Bootstrap::kMaxValueBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "the value of key \"%s\" has %d bytes; at most %d are allowed",
      absl::CEscape(std::string(key)), value.size(), size_t{Bootstrap::kMaxValueBytes}));
}

absl::Status NoSuchKey(std::string_view key) {
  return absl::NotFoundError(absl::StrFormat("no rank has put the key \"%s\" (before a fence)",
                                             absl::CEscape(std::string(key))));
}

}  // namespace weft
