#include "runtime/transport/verbs/pinning.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace weft {
namespace {

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

absl::Status TooLittleLockable(uint64_t bytes, const PinningLimits& limits) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot register ", bytes >> 10, " KiB for RDMA, which pins it: this process may lock ",
      limits.lockable >> 10, " KiB (ulimit -l), of which ", limits.pinned >> 10,
      " KiB are in use; raise that limit (memlock in /etc/security/limits.conf, LimitMEMLOCK of a "
      "service, --ulimit memlock=-1 of a container), or ask for a smaller heap (WEFT_HEAP_BYTES)"));
}

bool LacksLockable(uint64_t bytes, const PinningLimits& limits) {
  return limits.pinned > limits.lockable || bytes > limits.lockable - limits.pinned;
}

}  // namespace

PinningLimits ParsePinning(std::string_view status) {
  PinningLimits limits;
  for (absl::string_view line :
       absl::StrSplit(absl::string_view(status.data(), status.size()), '\n')) {
    if (absl::ConsumePrefix(&line, "VmPin:")) {
      absl::ConsumeSuffix(&line, "kB");
      uint64_t kib = 0;
      if (absl::SimpleAtoi(line, &kib)) limits.pinned = kib << 10;
    } else if (absl::ConsumePrefix(&line, "CapEff:")) {
      uint64_t capabilities = 0;
      limits.exempt = absl::SimpleHexAtoi(absl::StripAsciiWhitespace(line), &capabilities) &&
                      (capabilities >> CAP_IPC_LOCK & 1) != 0;
    }
  }
  return limits;
}

PinningLimits PinningLimits::OfThisProcess() {
  PinningLimits limits = ParsePinning(ReadFile("/proc/self/status"));
  rlimit lockable;
  if (getrlimit(RLIMIT_MEMLOCK, &lockable) == 0 && lockable.rlim_cur != RLIM_INFINITY) {
    limits.lockable = lockable.rlim_cur;
  }
  return limits;
}

void PinningLimits::CountMappings() {
  const std::string maps = ReadFile("/proc/self/maps");
  mappings = static_cast<uint64_t>(std::ranges::count(maps, '\n'));
  uint64_t most = 0;
  if (absl::SimpleAtoi(ReadFile("/proc/sys/vm/max_map_count"), &most)) max_mappings = most;
}

absl::Status CheckPinning(uint64_t bytes, const PinningLimits& limits) {
  if (limits.exempt || !LacksLockable(bytes, limits)) return absl::OkStatus();
  return TooLittleLockable(bytes, limits);
}

absl::Status RegistrationError(uint64_t bytes, int error, int max_regions,
                               const PinningLimits& limits) {
  // In a user namespace the capability does not count.
  if (error == ENOMEM && LacksLockable(bytes, limits)) return TooLittleLockable(bytes, limits);
  std::string cause;
  if (error == ENOMEM && limits.mappings + 2 >= limits.max_mappings) {
    cause = absl::StrCat("; this process has ", limits.mappings, " memory mappings of at most ",
                         limits.max_mappings,
                         ": raise the limit (sysctl vm.max_map_count), or register fewer pieces");
  } else {
    cause = absl::StrCat("; the device has ", max_regions, " regions for all processes");
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot register ", bytes >> 10, " KiB for RDMA: ", strerror(error), cause));
}

}  // namespace weft
