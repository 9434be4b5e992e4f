#include "bench/verbs/device.h"

#include "bench/measure.h"

namespace weft::bench {

std::string DeviceOf(int argc, char** argv, int process) {
  std::string devices = TextFlag(argc, argv, "devices").value_or("");
  const size_t comma = devices.find(',');
  if (comma == std::string::npos) return devices;
  return process == 0 ? devices.substr(0, comma) : devices.substr(comma + 1);
}

}  // namespace weft::bench
