// Plain structs as the bytes that ranks publish, and back. Functions; any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_PLAIN_BYTES_H_
#define WEFT_RUNTIME_TRANSPORT_PLAIN_BYTES_H_

#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace weft {

static_assert(std::endian::native == std::endian::little);

template <typename T>
void AppendPlain(std::string& bytes, const T& plain) {
  static_assert(std::has_unique_object_representations_v<T>, "padding would be published");
  bytes.append(reinterpret_cast<const char*>(&plain), sizeof(plain));
}

// Takes one off the front; false: the bytes are too few.
template <typename T>
bool TakePlain(std::string_view& bytes, T& plain) {
  if (bytes.size() < sizeof(plain)) return false;
  std::memcpy(&plain, bytes.data(), sizeof(plain));
  bytes.remove_prefix(sizeof(plain));
  return true;
}

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_PLAIN_BYTES_H_
