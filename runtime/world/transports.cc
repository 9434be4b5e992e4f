#include "runtime/world/transports.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/transport/fault/fault_transport.h"
#include "runtime/transport/shm/shm_transport.h"
#include "runtime/transport/verbs/verbs_transport.h"

namespace weft {
namespace {

absl::StatusOr<std::unique_ptr<Transport>> MakeVerbs(const Settings& settings, const NodeView& node,
                                                     const JobSecret& secret) {
  absl::StatusOr<const VerbsLibrary*> library = VerbsLibrary::Load();
  if (!library.ok()) return library.status();
  VerbsOptions options = settings.verbs;
  options.secret = secret;
  auto transport = VerbsTransport::Create(**library, options, node);
  if (!transport.ok()) return transport.status();
  return std::unique_ptr<Transport>(*std::move(transport));
}

}  // namespace

absl::StatusOr<Reaching> ChooseReaching(const Settings& settings, uint32_t nodes,
                                        const NodeView& node, const JobSecret& secret) {
  Reaching reaching;
  if (settings.use_shm && nodes == 1) {
    reaching.transport = std::make_unique<ShmTransport>(node);
  } else if (settings.use_verbs) {
    auto verbs = MakeVerbs(settings, node, secret);
    if (!verbs.ok()) {
      return absl::Status(verbs.status().code(),
                          absl::StrCat(nodes == 1 ? "WEFT_TRANSPORTS=verbs: "
                                                  : "to reach the ranks of other nodes by RDMA: ",
                                       verbs.status().message()));
    }
    reaching.transport = *std::move(verbs);
  } else {
    return absl::FailedPreconditionError(
        absl::StrCat("WEFT_TRANSPORTS=shm: the job has ranks on ", nodes,
                     " nodes, which shared memory does not connect: say WEFT_TRANSPORTS=shm,verbs, "
                     "or unset it"));
  }
  if (settings.fault_seed.has_value()) {
    reaching.transport = std::make_unique<FaultTransport>(
        std::move(reaching.transport), FaultOptions::FromSeed(*settings.fault_seed));
  } else {
    reaching.inlines = settings.use_shm;
    reaching.inlines_atomics = settings.use_shm && reaching.transport->caps().atomics_match_cpu;
  }
  return reaching;
}

}  // namespace weft
