// The decoder of what a keeper is told to do: whatever it accepts, encodes to the
// same bytes again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/weftrun/node_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto plan = weft::DecodeNodePlan(bytes);
  if (plan.ok() && weft::EncodeNodePlan(*plan) != bytes) std::abort();
  return 0;
}
