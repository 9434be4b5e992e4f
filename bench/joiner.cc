// Joins and leaves. With --memory each rank says how much memory it had resident
// at most; with --idle it does not join.
//   weftrun -n 8 joiner [--memory] [--idle]
#include <sys/resource.h>

#include <cstdio>
#include <string_view>

#include "weft/weft.h"

int main(int argc, char** argv) {
  bool memory = false, idle = false;
  for (int i = 1; i < argc; ++i) {
    memory |= std::string_view(argv[i]) == "--memory";
    idle |= std::string_view(argv[i]) == "--idle";
  }
  const int status = idle ? 0 : weft::Main([](weft::World& world) { return world.Barrier(); });
  if (memory) {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::printf("peak_kib=%ld\n", usage.ru_maxrss);
  }
  return status;
}
