// A rank of a job in which the last rank is stopped (SIGSTOP) inside of its Join or
// its Leave: stop_ends_program join|leave SEED. The seed gives the moment. The others
// come later than that, and tell what became of their own call.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "absl/time/clock.h"
#include "tests/world/rank_report.h"
#include "weft/weft.h"

namespace weft::testing {
namespace {

// Later than any moment at which the last rank stops.
constexpr absl::Duration kLater = absl::Milliseconds(20);

// Stops this process soon: at the moment that the seed gives.
void StopWithin(int microseconds, uint64_t seed) {
  signal(SIGALRM, [](int) { raise(SIGSTOP); });
  std::mt19937_64 random(seed);
  itimerval timer = {};
  timer.it_value.tv_usec = std::uniform_int_distribution<int>(1, microseconds)(random);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

int Run(bool in_join, uint64_t seed) {
  const char* const self = std::getenv("WEFT_RANK");
  const bool last = std::string_view(self) == "3";
  // Whoever weftrun asks to end is still to tell.
  signal(SIGTERM, SIG_IGN);
  if (in_join && last) StopWithin(3000, seed);
  if (in_join && !last) absl::SleepFor(kLater);
  auto world = World::Join({});
  if (!world.ok()) {
    Tell(self, world.status().ToString());
    return 3;
  }
  absl::Status end = world->Barrier();
  if (!in_join && last) {
    StopWithin(200, seed);
    // Telling the others takes less than the shortest timer: some moments come before.
    const absl::Time leave_at = absl::Now() + absl::Microseconds(100);
    while (absl::Now() < leave_at) continue;
  }
  if (!in_join && !last) absl::SleepFor(kLater);
  end.Update(world->Leave());
  Tell(self, end.ToString());
  return end.ok() ? 0 : 3;
}

}  // namespace
}  // namespace weft::testing

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return weft::testing::Run(std::string_view(argv[1]) == "join",
                            std::strtoull(argv[2], nullptr, 10));
}
