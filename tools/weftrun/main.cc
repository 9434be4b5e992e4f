// weftrun: starts the ranks of a Weft job, on this machine or on several.

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tools/weftrun/exit_status.h"
#include "tools/weftrun/keeper.h"
#include "tools/weftrun/launcher.h"
#include "tools/weftrun/options.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], weft::kKeeperFlag) == 0) return weft::RunKeeper();
  const auto options = weft::ParseOptions(std::vector<std::string>(argv + 1, argv + argc));
  if (!options.ok()) {
    std::fprintf(stderr, "weftrun: %s (see weftrun --help)\n",
                 std::string(options.status().message()).c_str());
    return weft::kExitLauncher;
  }
  if (options->help) {
    std::fputs(weft::kHelp, stdout);
    return 0;
  }
  if (options->dry_run) {
    weft::PrintPlan(*options);
    return 0;
  }
  return weft::Launch(*options);
}
