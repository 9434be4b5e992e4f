#include "tools/weftrun/host_plans.h"

#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "tools/weftrun/hosts.h"

namespace weft {
namespace {

// What a shell here would give its programs; what only says who a rank is, its own guard says.
std::vector<std::pair<std::string, std::string>> InheritedVariables() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const size_t equals = variable.find('=');
    const std::string_view name = variable.substr(0, equals);
    if (equals == std::string_view::npos || !name.starts_with("WEFT_")) continue;
    if (name == "WEFT_BOOTSTRAP" || name == "WEFT_RANK" || name == "WEFT_SIZE" ||
        name == "WEFT_NODE" || name == "WEFT_REMOTE_WEFTRUN") {
      continue;
    }
    variables.emplace_back(name, variable.substr(equals + 1));
  }
  return variables;
}

}  // namespace

std::vector<NodePlan> PlanHosts(const Options& options) {
  const std::vector<std::string>& hosts = options.placement.hosts;
  NodePlan common = {.node = std::nullopt,
                     .host = OwnHostName(),
                     .map = options.placement.map,
                     .options = options};
  common.options.ranks = common.map.size();
  if (hosts.empty()) return {std::move(common)};
  std::vector<NodePlan> plans;
  for (uint32_t node = 0; node < hosts.size(); ++node) {
    NodePlan plan = common;
    if (hosts.size() > 1 || !IsThisHost(hosts[node])) {
      plan.node = node;
      plan.options.timeout = absl::InfiniteDuration();
    }
    if (!IsThisHost(hosts[node])) {
      plan.host = hosts[node];
      auto variables = InheritedVariables();
      // The last of a name is the one that holds.
      variables.insert(variables.end(), options.environment.begin(), options.environment.end());
      plan.options.environment = std::move(variables);
      if (plan.options.directory.empty()) {
        char here[4096];
        if (getcwd(here, sizeof(here)) != nullptr) plan.options.directory = here;
      }
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::vector<std::string> HostNames(const std::vector<NodePlan>& plans) {
  std::vector<std::string> names;
  for (const NodePlan& plan : plans) names.push_back(plan.host);
  return names;
}

std::optional<uint32_t> LocalHost(const std::vector<NodePlan>& plans) {
  for (uint32_t host = 0; host < plans.size(); ++host) {
    if (IsThisHost(plans[host].host)) return host;
  }
  return std::nullopt;
}

}  // namespace weft
