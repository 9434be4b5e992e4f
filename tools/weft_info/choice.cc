#include "tools/weft_info/choice.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/transport/tcp/interfaces.h"
#include "runtime/transport/verbs/pinning.h"
#include "runtime/world/settings.h"
#include "runtime/world/variables.h"

namespace weft {
namespace {

// Set by weftrun, not by users.
constexpr const char* kOfTheLauncher[] = {"WEFT_BOOTSTRAP", "WEFT_RANK", "WEFT_SIZE", "WEFT_NODE"};

void AddVariables(Report& report) {
  Document& options = report.facts["options"] = Document::object();
  for (const Variable& variable : Variables()) {
    const char* const value = std::getenv(variable.name);
    options[variable.name] = {{"value", value != nullptr ? value : variable.fallback},
                              {"set_by", value != nullptr ? "the environment" : "default"},
                              {"help", variable.help}};
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    const absl::string_view name = text.substr(0, text.find('='));
    const auto is_it = [name](const Variable& variable) { return name == variable.name; };
    if (!absl::StartsWith(name, "WEFT_") || std::ranges::any_of(Variables(), is_it) ||
        std::ranges::count(kOfTheLauncher, name) > 0) {
      continue;
    }
    report.AddProblem(absl::StrCat("there is no option ", name, ": unset it, or mend its name"));
  }
}

// Over RDMA, or why not.
std::string Verbs(const Settings& settings, const absl::StatusOr<std::vector<VerbsPort>>& ports,
                  bool needed, Report& report) {
  const absl::StatusOr<VerbsPort> port =
      ports.ok() ? ChoosePort(*ports, settings.verbs.device) : ports.status();
  if (!port.ok()) {
    if (needed) report.AddProblem(port.status().message());
    return absl::StrCat("cannot: ", port.status().message());
  }
  const absl::Status pinnable =
      CheckPinning(settings.shape.slab_bytes, PinningLimits::OfThisProcess());
  if (needed && !pinnable.ok()) report.AddProblem(pinnable.message());
  return absl::StrCat("RDMA by ", port->name(), " (", port->reason, ")");
}

// Over TCP, or why not.
std::string Tcp(const Settings& settings, Report& report) {
  const auto interfaces = ListInterfaces();
  const auto listened = interfaces.ok()
                            ? ChooseListened(*interfaces, settings.interface, /*one_node=*/false)
                            : interfaces.status();
  if (!listened.ok()) {
    // A machine without a network runs jobs of one node all the same.
    if (!settings.interface.empty()) report.AddProblem(listened.status().message());
    return absl::StrCat("cannot: ", listened.status().message());
  }
  return absl::StrCat(
      "TCP by ", absl::StrJoin(*listened, ", ", [](std::string* out, const SocketAddress& address) {
        out->append(address.ip_text());
      }));
}

// What carries operations to where no memory is shared.
std::string Network(const Settings& settings, const absl::StatusOr<std::vector<VerbsPort>>& ports,
                    Report& report) {
  if (!settings.use_verbs && !settings.use_tcp) {
    return "cannot: WEFT_TRANSPORTS leaves out verbs and tcp";
  }
  if (!settings.use_verbs) return Tcp(settings, report);
  const bool chosen = !settings.verbs.device.empty();
  const bool needed = chosen || (!settings.use_shm && !settings.use_tcp);
  const std::string verbs = Verbs(settings, ports, needed, report);
  if (chosen || !settings.use_tcp || !verbs.starts_with("cannot")) return verbs;
  return Tcp(settings, report);
}

}  // namespace

void AddChoice(const absl::StatusOr<std::vector<VerbsPort>>& ports, Report& report) {
  AddVariables(report);
  Document& choice = report.facts["choice"];
  const auto settings = ResolveSettings({}, [](const char* name) { return std::getenv(name); });
  if (!settings.ok()) {
    choice = absl::StrCat("none: ", settings.status().message());
    report.AddProblem(settings.status().message());
    return;
  }
  const std::string network = Network(*settings, ports, report);
  choice["within_a_node"] = settings->use_shm ? "shared memory" : network;
  choice["between_nodes"] = network;
}

}  // namespace weft
