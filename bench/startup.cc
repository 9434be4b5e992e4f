// How long a job of some ranks takes, from the start of weftrun to its end,
// beside as many starts of `true`, in turn.
//   startup --weftrun=PATH --program=PATH [--ranks=8] [--launches=15]
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/measure.h"

extern char** environ;

namespace {

// Starts `copies` of the command, then waits for all. Ends this process when one fails.
void RunCopies(const std::vector<std::string>& command, uint64_t copies) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  std::vector<pid_t> children(copies);
  for (pid_t& child : children) {
    if (posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
      std::perror(arguments[0]);
      std::exit(1);
    }
  }
  for (const pid_t child : children) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) {
      std::fprintf(stderr, "startup: %s ended with wait status %d\n", arguments[0], status);
      std::exit(1);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  using weft::bench::Now;
  const auto weftrun = weft::bench::TextFlag(argc, argv, "weftrun");
  const auto program = weft::bench::TextFlag(argc, argv, "program");
  const uint64_t ranks = weft::bench::NumberFlag(argc, argv, "ranks", 8);
  const uint64_t launches = weft::bench::NumberFlag(argc, argv, "launches", 25);
  if (!weftrun || !program) {
    std::fprintf(stderr, "usage: %s --weftrun=PATH --program=PATH [--ranks=N] [--launches=N]\n",
                 argv[0]);
    return 2;
  }
  weft::bench::Pairs pairs;
  for (uint64_t i = 0; i <= launches; ++i) {
    const double start = Now();
    RunCopies({*weftrun, "-n", std::to_string(ranks), *program}, 1);
    const double middle = Now();
    RunCopies({"true"}, ranks);
    const double end = Now();
    if (i == 0) continue;  // What the page cache did not have.
    pairs.ours.push_back((middle - start) / 1e6);
    pairs.reference.push_back((end - middle) / 1e6);
  }
  weft::bench::Figure figure = weft::bench::TimeFigure(
      "startup" + std::to_string(ranks), "posix_spawn_of_true_x" + std::to_string(ranks), pairs);
  figure.unit = "ms";
  Print(figure);
}
