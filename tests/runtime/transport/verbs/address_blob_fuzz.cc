// What is published by other processes decodes to the bytes that it came from, or not at all.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/transport/verbs/address_blob.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto key = weft::DecodeMemoryKey(bytes); key.ok()) {
    if (weft::EncodeMemoryKey(*key) != bytes) std::abort();
  }
  if (const auto address = weft::DecodeVerbsAddress(bytes); address.ok()) {
    if (weft::EncodeVerbsAddress(*address) != bytes) std::abort();
  }
  // Mutations of what is right get further than random bytes.
  weft::VerbsAddress good;
  good.port.mtu = IBV_MTU_1024;
  good.pairs.resize(2);
  std::string encoded = weft::EncodeVerbsAddress(good);
  if (!weft::DecodeVerbsAddress(encoded).ok()) std::abort();
  weft::VerbsAddress by_cm = good;
  by_cm.pairs.clear();
  by_cm.cm.emplace().port = 1;
  std::string encoded_by_cm = weft::EncodeVerbsAddress(by_cm);
  const auto decoded = weft::DecodeVerbsAddress(encoded_by_cm);
  if (!decoded.ok() || decoded->cm != by_cm.cm) std::abort();
  if (size < 2) return 0;
  if (data[1] % 2 == 1) encoded = std::move(encoded_by_cm);
  const size_t at = (data[0] | size_t{data[1]} << 8) % (encoded.size() + 1);
  encoded.replace(at, std::min(size - 2, encoded.size() - at), bytes.substr(2));
  if (const auto address = weft::DecodeVerbsAddress(encoded); address.ok()) {
    if (weft::EncodeVerbsAddress(*address) != encoded) std::abort();
  }
  return 0;
}
