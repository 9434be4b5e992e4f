#include "runtime/world/transports.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/transport/fault/fault_transport.h"
#include "runtime/transport/shm/shm_transport.h"
#include "runtime/transport/tcp/tcp_transport.h"
#include "runtime/transport/verbs/verbs_transport.h"

namespace weft {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Transport>>;

Made MakeVerbs(const Settings& settings, const NodeView& node, const JobSecret& secret) {
  absl::StatusOr<const VerbsLibrary*> library = VerbsLibrary::Load();
  if (!library.ok()) return library.status();
  VerbsOptions options = settings.verbs;
  options.secret = secret;
  auto transport = VerbsTransport::Create(**library, options, node);
  if (!transport.ok()) return transport.status();
  return std::unique_ptr<Transport>(*std::move(transport));
}

Made MakeTcp(const Settings& settings, uint32_t nodes, const NodeView& node,
             const JobSecret& secret) {
  auto transport = TcpTransport::Create(
      {.interface = settings.interface, .one_node = nodes == 1, .secret = secret}, node);
  if (!transport.ok()) return transport.status();
  return std::unique_ptr<Transport>(*std::move(transport));
}

// Whether `yes` holds on all ranks. Collective; rank 0 counts, so that a job of many ranks asks
// the store no more than a few times each.
absl::StatusOr<bool> OnAllRanks(bool yes, Bootstrap& bootstrap, Deadline deadline) {
  constexpr char kVerdict[] = "rdma";
  const auto vote = [](Rank rank) { return absl::StrCat("rdma/", rank); };
  if (absl::Status put = bootstrap.Put(vote(bootstrap.rank()), yes ? "yes" : "no"); !put.ok()) {
    return put;
  }
  if (absl::Status all = bootstrap.Fence(deadline); !all.ok()) return all;
  if (bootstrap.rank() == 0) {
    bool verdict = true;
    for (Rank rank = 0; rank < bootstrap.size(); ++rank) {
      const auto voted = bootstrap.Get(vote(rank), deadline);
      if (!voted.ok()) return voted.status();
      verdict &= *voted == "yes";
    }
    if (absl::Status put = bootstrap.Put(kVerdict, verdict ? "yes" : "no"); !put.ok()) return put;
  }
  if (absl::Status all = bootstrap.Fence(deadline); !all.ok()) return all;
  const auto verdict = bootstrap.Get(kVerdict, deadline);
  if (!verdict.ok()) return verdict.status();
  return *verdict == "yes";
}

// That over a network.
Made MakeNetwork(const Settings& settings, uint32_t nodes, const NodeView& node,
                 Bootstrap& bootstrap, Deadline deadline) {
  if (!settings.use_verbs) return MakeTcp(settings, nodes, node, bootstrap.secret());
  Made verbs = MakeVerbs(settings, node, bootstrap.secret());
  // Who names a device wants that one.
  if (!settings.use_tcp || !settings.verbs.device.empty()) return verbs;
  const absl::StatusOr<bool> all = OnAllRanks(verbs.ok(), bootstrap, deadline);
  if (!all.ok()) return all.status();
  if (*all) return verbs;
  verbs = absl::CancelledError();  // What it holds is not needed.
  return MakeTcp(settings, nodes, node, bootstrap.secret());
}

}  // namespace

absl::StatusOr<Reaching> ChooseReaching(const Settings& settings, uint32_t nodes,
                                        const NodeView& node, Bootstrap& bootstrap,
                                        Deadline deadline) {
  Reaching reaching;
  if (settings.use_shm && nodes == 1) {
    reaching.transport = std::make_unique<ShmTransport>(node);
  } else if (settings.use_verbs || settings.use_tcp) {
    Made network = MakeNetwork(settings, nodes, node, bootstrap, deadline);
    if (!network.ok()) {
      return absl::Status(
          network.status().code(),
          absl::StrCat(nodes == 1 ? "to reach all ranks over a network (WEFT_TRANSPORTS): "
                                  : "to reach the ranks of other nodes: ",
                       network.status().message()));
    }
    reaching.transport = *std::move(network);
  } else {
    return absl::FailedPreconditionError(
        absl::StrCat("WEFT_TRANSPORTS=shm: the job has ranks on ", nodes,
                     " nodes, which shared memory does not connect: say WEFT_TRANSPORTS=shm,tcp, "
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
