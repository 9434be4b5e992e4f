#include "runtime/transport/verbs/device.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/transport/verbs/pinning.h"

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

}  // namespace

VerbsDevice::VerbsDevice(const VerbsLibrary& library, const VerbsPort& port, ContextHandle context)
    : library_(&library),
      port_(port),
      context_(std::move(context)),
      domain_(library.alloc_pd(context_.get()), library.dealloc_pd) {}

absl::StatusOr<VerbsDevice> VerbsDevice::Open(const VerbsLibrary& library, const VerbsPort& port) {
  ContextHandle context(OpenByName(library, port.device), library.close_device);
  if (context == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot open the RDMA device ", port.device, ": ", strerror(errno)));
  }
  return Use(library, port, std::move(context));
}

absl::StatusOr<VerbsDevice> VerbsDevice::Borrow(const VerbsLibrary& library, const VerbsPort& port,
                                                ibv_context* context) {
  return Use(library, port, ContextHandle(context, [](ibv_context*) { return 0; }));
}

absl::StatusOr<VerbsDevice> VerbsDevice::Use(const VerbsLibrary& library, const VerbsPort& port,
                                             ContextHandle context) {
  // Its events are looked for beside other things.
  fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK);
  VerbsDevice device(library, port, std::move(context));
  if (device.domain_ == nullptr || library.query_device(device.context(), &device.limits_) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot use the RDMA device ", device.port_.device, ": ", strerror(errno)));
  }
  return device;
}

absl::StatusOr<RegionHandle> VerbsDevice::Register(std::span<std::byte> memory, int access) const {
  // Beforehand, since a driver that is refused says no more than that there is no memory.
  const absl::Status pinnable = CheckPinning(memory.size(), PinningLimits::OfThisProcess());
  if (!pinnable.ok()) return pinnable;
  // Pinned it is committed in any case, and of larger pages the device has fewer to look up.
  // Advice only: failure is harmless.
  madvise(memory.data(), memory.size(), MADV_HUGEPAGE);
  RegionHandle region(library_->reg_mr(domain(), memory.data(), memory.size(), access),
                      library_->dereg_mr);
  if (region == nullptr) {
    const int error = errno;
    PinningLimits limits = PinningLimits::OfThisProcess();
    limits.CountMappings();
    return RegistrationError(memory.size(), error, limits_.max_mr, limits);
  }
  return region;
}

absl::StatusOr<uint8_t> VerbsDevice::GidIndex() const {
  const auto is_ours = [this](uint32_t index) {
    ibv_gid_entry entry;
    return library_->query_gid(context(), port_.number, index, &entry, 0, sizeof(entry)) == 0 &&
           entry.gid_type == port_.gid_type && memcmp(&entry.gid, &port_.gid, sizeof(ibv_gid)) == 0;
  };
  if (is_ours(port_.gid_index)) return static_cast<uint8_t>(port_.gid_index);
  for (uint32_t index = 0; index < port_.gid_count; ++index) {
    if (is_ours(index)) return static_cast<uint8_t>(index);
  }
  return absl::UnavailableError(absl::StrCat(
      port_.name(), " has lost the address ", FormatGid(port_.gid),
      " that the peers know it by: give it back to its network interface, or start the job anew"));
}

}  // namespace weft
