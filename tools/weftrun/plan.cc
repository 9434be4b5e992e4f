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
  const bool pretended = placement.hosts.empty();
  // By node: how many ranks run there, and how many of them have been said.
  std::vector<Rank> counts(placement.map.nodes()), placed(placement.map.nodes());
  for (Rank rank = 0; rank < options.ranks; ++rank) {
    ++counts[pretended ? 0 : placement.map.of(rank)];
  }
  for (Rank rank = 0; rank < options.ranks; ++rank) {
    const uint32_t node = pretended ? 0 : placement.map.of(rank);
    // Which cpus there are, another host alone knows.
    const bool here = pretended || IsThisHost(placement.hosts[node]);
    const std::string cpus =
        here ? CpuList(CpusOf(placed[node]++, counts[node], options.binding, allowed))
             : "of that host";
    std::printf("rank %u%s: cpus %s, stdin %s, in %s:%s\n", rank,
                pretended ? "" : (" on " + placement.hosts[node]).c_str(), cpus.c_str(),
                options.stdin_rank == rank ? "inherited" : "empty", directory.c_str(),
                command.c_str());
  }
}

}  // namespace weft
