// The decoder of the bootstrap's messages: whatever it accepts, encodes to the
// same bytes again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/bootstrap/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view datagram(reinterpret_cast<const char*>(data), size);
  const auto message = weft::DecodeWire(datagram);
  if (message.ok() && weft::EncodeWire(*message) != datagram) std::abort();
  return 0;
}
