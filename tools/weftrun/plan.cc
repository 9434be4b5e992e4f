#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/weftrun/binding.h"
#include "tools/weftrun/launcher.h"
#include "tools/weftrun/shell_words.h"

namespace weft {

void PrintPlan(const Options& options) {
  std::string command;
  for (const auto& [name, value] : options.environment) {
    absl::StrAppend(&command, " ", name, "=", ShellQuoted(value));
  }
  for (const std::string& word : options.command) absl::StrAppend(&command, " ", ShellQuoted(word));
  std::string directory = options.directory;
  if (directory.empty()) {
    char here[4096];
    directory = getcwd(here, sizeof(here)) != nullptr ? here : ".";
  }
  const std::vector<int> allowed = AllowedCpus();
  const Placement& placement = options.placement;
  std::vector<Rank> placed(placement.map.nodes());  // How many, by node.
  const bool pretended = placement.hosts.empty();
  for (Rank rank = 0; rank < options.ranks; ++rank) {
    const uint32_t node = pretended ? 0 : placement.map.of(rank);
    const Rank neighbours =
        pretended ? options.ranks : static_cast<Rank>(placement.map.RanksOn(node).size());
    // Which cpus there are, another host alone knows.
    const bool here = pretended || IsThisHost(placement.hosts[node]);
    const std::string cpus =
        here ? CpuList(CpusOf(placed[node]++, neighbours, options.binding, allowed))
             : "of that host";
    std::printf("rank %u%s: cpus %s, stdin %s, in %s:%s\n", rank,
                pretended ? "" : (" on " + placement.hosts[node]).c_str(), cpus.c_str(),
                options.stdin_rank == rank ? "inherited" : "empty", directory.c_str(),
                command.c_str());
  }
}

}  // namespace weft
