// One opened RDMA device and the port that this rank uses: the protection domain
// that all memory and all queues belong to, and the limits that apply.
//
// Owned by the transport; any thread may read it.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_DEVICE_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/transport/verbs/port.h"
#include "runtime/transport/verbs/verbs_library.h"

namespace weft {

class VerbsDevice {
 public:
  // The one that has `port`, opened.
  static absl::StatusOr<VerbsDevice> Open(const VerbsLibrary& library, const VerbsPort& port);
  // The same, as somebody else has opened it and keeps it open.
  static absl::StatusOr<VerbsDevice> Borrow(const VerbsLibrary& library, const VerbsPort& port,
                                            ibv_context* context);

  const VerbsLibrary& library() const { return *library_; }
  const VerbsPort& port() const { return port_; }
  const ibv_device_attr& limits() const { return limits_; }
  bool iwarp() const { return context_->device->transport_type == IBV_TRANSPORT_IWARP; }
  ibv_context* context() const { return context_.get(); }
  ibv_pd* domain() const { return domain_.get(); }

  // Where the port's GID is in its table now: addresses that come and go move it.
  absl::StatusOr<uint8_t> GidIndex() const;

  // Pins `memory` and makes it known to the device, for remote access of `access`
  // (IBV_ACCESS_...). kResourceExhausted says what limits it.
  absl::StatusOr<RegionHandle> Register(std::span<std::byte> memory, int access) const;

 private:
  VerbsDevice(const VerbsLibrary& library, const VerbsPort& port, ContextHandle context);

  static absl::StatusOr<VerbsDevice> Use(const VerbsLibrary& library, const VerbsPort& port,
                                         ContextHandle context);

  const VerbsLibrary* library_;
  VerbsPort port_;
  ibv_device_attr limits_ = {};
  ContextHandle context_;
  DomainHandle domain_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_DEVICE_H_
