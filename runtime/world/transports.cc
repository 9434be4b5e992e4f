#include "runtime/world/transports.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/transport/fault/fault_transport.h"
#include "runtime/transport/shm/shm_transport.h"
#include "runtime/transport/verbs/verbs_transport.h"

namespace weft {
namespace {

absl::StatusOr<std::unique_ptr<Transport>> MakeVerbs(const Settings& settings,
                                                     const NodeView& node) {
  absl::StatusOr<const VerbsLibrary*> library = VerbsLibrary::Load();
  if (!library.ok()) return library.status();
  auto transport = VerbsTransport::Create(**library, settings.verbs_device, node);
  if (!transport.ok()) return transport.status();
  return std::unique_ptr<Transport>(*std::move(transport));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> MakeTransport(const Settings& settings,
                                                         const NodeView& node) {
  std::unique_ptr<Transport> transport;
  if (settings.transport == Settings::TransportKind::kShm) {
    transport = std::make_unique<ShmTransport>(node);
  } else {
    auto verbs = MakeVerbs(settings, node);
    if (!verbs.ok()) {
      return absl::Status(verbs.status().code(),
                          absl::StrCat("WEFT_TRANSPORTS=verbs: ", verbs.status().message()));
    }
    transport = *std::move(verbs);
  }
  if (settings.fault_seed.has_value()) {
    transport = std::make_unique<FaultTransport>(std::move(transport),
                                                 FaultOptions::FromSeed(*settings.fault_seed));
  }
  return transport;
}

}  // namespace weft
