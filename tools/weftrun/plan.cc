#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/weftrun/binding.h"
#include "tools/weftrun/launcher.h"

namespace weft {
namespace {

// As a shell would have to read it.
std::string Quoted(const std::string& word) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

void PrintPlan(const Options& options) {
  std::string command;
  for (const auto& [name, value] : options.environment) {
    absl::StrAppend(&command, " ", name, "=", Quoted(value));
  }
  for (const std::string& word : options.command) absl::StrAppend(&command, " ", Quoted(word));
  std::string directory = options.directory;
  if (directory.empty()) {
    char here[4096];
    directory = getcwd(here, sizeof(here)) != nullptr ? here : ".";
  }
  const std::vector<int> allowed = AllowedCpus();
  for (Rank rank = 0; rank < options.ranks; ++rank) {
    std::printf("rank %u: cpus %s, stdin %s, in %s:%s\n", rank,
                CpuList(CpusOf(rank, options.ranks, options.binding, allowed)).c_str(),
                options.stdin_rank == rank ? "inherited" : "empty", directory.c_str(),
                command.c_str());
  }
}

}  // namespace weft
