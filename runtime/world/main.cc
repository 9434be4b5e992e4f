#include "weft/main.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_format.h"

namespace weft {

int Main(absl::FunctionRef<absl::Status(World&)> run, const World::Options& options) {
  auto world = World::Join(options);
  if (!world.ok()) {
    std::fprintf(stderr, "weft: cannot join the job: %s\n", world.status().ToString().c_str());
    return 1;
  }
  if (absl::Status status = run(*world); !status.ok()) {
    World::Abort(1, absl::StrFormat("rank %u: %s", world->rank(), status.ToString()));
  }
  if (absl::Status left = world->Leave(); !left.ok()) {
    std::fprintf(stderr, "weft: rank %u: %s\n", world->rank(), left.ToString().c_str());
    return 1;
  }
  return 0;
}

int Main(absl::FunctionRef<absl::Status(World&)> run) { return Main(run, World::Options()); }

}  // namespace weft
