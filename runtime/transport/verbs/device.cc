#include "runtime/transport/verbs/device.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

ibv_context* OpenByName(const VerbsLibrary& library, const std::string& name) {
  int count = 0;
  ibv_device** const devices = library.get_device_list(&count);
  if (devices == nullptr) return nullptr;
  ibv_context* context = nullptr;
  for (int i = 0; i < count && context == nullptr; ++i) {
    if (name == library.get_device_name(devices[i])) context = library.open_device(devices[i]);
  }
  library.free_device_list(devices);
  return context;
}

absl::Status RegistrationError(size_t bytes, int error) {
  rlimit locked;
  std::string cure;
  if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY) {
    cure = absl::StrCat(": the limit on locked memory (ulimit -l) is ", locked.rlim_cur >> 10,
                        " KiB; raise it (unlimited, in limits.conf), or ask for a smaller heap "
                        "(WEFT_HEAP_BYTES)");
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot register ", bytes >> 10, " KiB for RDMA: ", strerror(error), cure));
}

}  // namespace

VerbsDevice::VerbsDevice(const VerbsLibrary& library, ContextHandle context)
    : library_(&library),
      context_(std::move(context)),
      domain_(library.alloc_pd(context_.get()), library.dealloc_pd) {}

absl::StatusOr<VerbsDevice> VerbsDevice::Open(const VerbsLibrary& library,
                                              std::string_view wanted) {
  absl::StatusOr<VerbsPort> port = ChoosePort(SurveyPorts(library), wanted);
  if (!port.ok()) return port.status();
  ContextHandle context(OpenByName(library, port->device), library.close_device);
  if (context == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot open the RDMA device ", port->device, ": ", strerror(errno)));
  }
  VerbsDevice device(library, std::move(context));
  device.port_ = *std::move(port);
  if (device.domain_ == nullptr || library.query_device(device.context(), &device.limits_) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot use the RDMA device ", device.port_.device, ": ", strerror(errno)));
  }
  return device;
}

absl::StatusOr<RegionHandle> VerbsDevice::Register(std::span<std::byte> memory, int access) const {
  RegionHandle region(library_->reg_mr(domain(), memory.data(), memory.size(), access),
                      library_->dereg_mr);
  if (region == nullptr) return RegistrationError(memory.size(), errno);
  return region;
}

}  // namespace weft
