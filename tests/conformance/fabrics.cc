// Which fabrics there are: every transport, bare and under the fault decorator.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "absl/strings/str_split.h"
#include "runtime/transport/fault/fault_transport.h"
#include "runtime/transport/shm/shm_transport.h"
#include "runtime/transport/tcp/tcp_transport.h"
#include "runtime/transport/verbs/verbs_transport.h"
#include "runtime/world/settings.h"
#include "tests/conformance/fabric.h"
#include "tests/support/served_transport.h"

namespace weft {
namespace {

std::vector<Fabric> AsThreadsAndProcesses(const std::string& name,
                                          const Fabric::MakeTransport& make) {
  return {{.name = name + "Threads", .make = make},
          {.name = name + "Processes", .make = make, .processes = true}};
}

uint64_t MoreSeeds() {
  const char* const text = std::getenv("WEFT_SEEDS");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

bool OverVerbs() {
  const char* const chosen = std::getenv("WEFT_CONFORMANCE");
  return chosen != nullptr && std::string_view(chosen) == "verbs";
}

std::unique_ptr<Transport> OverShm(const NodeView& node) {
  return std::make_unique<ShmTransport>(node);
}

std::unique_ptr<Transport> OverTcp(const NodeView& node) {
  auto transport = TcpTransport::Create({.secret = {1}}, node);
  EXPECT_TRUE(transport.ok()) << transport.status();
  if (!transport.ok()) throw RankStopped();
  return *std::move(transport);
}

std::unique_ptr<Transport> OnDeviceInTurn(const NodeView& node) {
  const char* const devices = std::getenv("RDMA_DEVICES");
  const std::vector<std::string> names =
      absl::StrSplit(devices == nullptr ? "" : devices, ' ', absl::SkipEmpty());
  const absl::StatusOr<const VerbsLibrary*> library = VerbsLibrary::Load();
  EXPECT_TRUE(library.ok()) << library.status();
  if (!library.ok()) throw RankStopped();
  const auto settings = ResolveSettings({}, [](const char* name) { return std::getenv(name); });
  EXPECT_TRUE(settings.ok()) << settings.status();
  if (!settings.ok()) throw RankStopped();
  VerbsOptions options = settings->verbs;
  if (!names.empty()) options.device = names[node.rank % names.size()];
  auto transport = VerbsTransport::Create(**library, options, node);
  EXPECT_TRUE(transport.ok()) << transport.status();
  if (!transport.ok()) throw RankStopped();
  return *std::move(transport);
}

}  // namespace

Fabric Fabric::With(const FaultOptions& options) const {
  Fabric fault = *this;
  fault.bare = false;
  fault.make = [make = make, options](const NodeView& node) -> std::unique_ptr<Transport> {
    FaultOptions mine = options;
    mine.seed += node.rank;
    return std::make_unique<FaultTransport>(make(node), mine);
  };
  return fault;
}

std::vector<Fabric> BareFabrics() {
  if (OverVerbs()) {
    std::vector<Fabric> fabrics = AsThreadsAndProcesses("Verbs", OnDeviceInTurn);
    for (Fabric& fabric : fabrics) {
      fabric.tears_two_bytes = std::getenv("RDMA_DEVICES") != nullptr;
      fabric.bare = false;
    }
    return fabrics;
  }
  std::vector<Fabric> fabrics = AsThreadsAndProcesses("Shm", OverShm);
  // With what the Engine does only where there is a service thread.
  fabrics.push_back({.name = "ServedThreads", .make = [](const NodeView& node) {
                       return std::make_unique<ServedTransport>(OverShm(node));
                     }});
  for (Fabric& tcp : AsThreadsAndProcesses("Tcp", OverTcp)) {
    tcp.bare = false;
    fabrics.push_back(std::move(tcp));
  }
  return fabrics;
}

std::vector<Fabric> Fabrics() {
  std::vector<Fabric> fabrics = BareFabrics();
  for (const Fabric& bare : BareFabrics()) {
    const uint64_t seeds = (bare.processes ? 3 : 6) + MoreSeeds();
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      Fabric fault = bare.With(FaultOptions::FromSeed(seed));
      fault.name += "Fault" + std::to_string(seed);
      fabrics.push_back(std::move(fault));
    }
  }
  return fabrics;
}

}  // namespace weft
