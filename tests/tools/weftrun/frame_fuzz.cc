// The decoder of the frames between launcher, keepers and guards: whatever it takes
// off a stream, encodes to the same bytes again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/weftrun/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view stream(reinterpret_cast<const char*>(data), size);
  std::string_view left = stream;
  while (true) {
    const std::string_view before = left;
    const auto frame = weft::TakeFrame(left);
    if (!frame.ok()) return 0;
    if (!frame->has_value()) {
      if (left != before) std::abort();
      return 0;
    }
    if (weft::EncodeFrame(**frame) != before.substr(0, before.size() - left.size())) std::abort();
  }
}
