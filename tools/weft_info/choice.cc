#include "tools/weft_info/choice.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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
  const bool needed = !settings->use_shm || !settings->verbs.device.empty();
  const std::string verbs = settings->use_verbs ? Verbs(*settings, ports, needed, report)
                                                : "cannot: WEFT_TRANSPORTS leaves out verbs";
  choice["within_a_node"] = settings->use_shm ? "shared memory" : verbs;
  choice["between_nodes"] = verbs;
}

}  // namespace weft
