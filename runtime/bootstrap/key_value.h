// What every source's key-value store says of keys and values. Pure functions.
#ifndef WEFT_RUNTIME_BOOTSTRAP_KEY_VALUE_H_
#define WEFT_RUNTIME_BOOTSTRAP_KEY_VALUE_H_

#include <string_view>

#include "absl/status/status.h"

namespace weft {

// kInvalidArgument unless both are within the bounds of Bootstrap.
absl::Status CheckKey(std::string_view key);
absl::Status CheckKeyAndValue(std::string_view key, std::string_view value);

absl::Status NoSuchKey(std::string_view key);

}  // namespace weft
#endif  // WEFT_RUNTIME_BOOTSTRAP_KEY_VALUE_H_
