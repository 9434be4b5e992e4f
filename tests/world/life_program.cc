// A rank that joins, does one thing, and ends: life_program WHAT [RANK].
// RANK is the one that ends differently from the others, by default 1.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/world/rank_report.h"
#include "weft/weft.h"

namespace weft::testing {
namespace {

std::optional<World> static_world;

const char* Self() {
  const char* rank = std::getenv("WEFT_RANK");
  return rank == nullptr ? "0" : rank;
}

void TellStatus(const absl::Status& status) { Tell(Self(), status.ToString()); }

// Allocates and touches every byte of this rank's slab.
absl::Status TouchAll(const World& world, size_t symmetric, size_t local) {
  auto table = Symmetric<std::byte>::Create(world, symmetric);
  if (!table.ok()) return table.status();
  auto block = Allocate<std::byte>(local);
  if (!block.ok()) return block.status();
  std::memset(table->mine().data(), 1, symmetric);
  std::memset(Local(*block), 1, local);
  const Rank right = (world.rank() + 1) % world.size();
  absl::Status status = world.Barrier();
  const auto last = Get(table->at(right, symmetric - 1));
  if (!last.ok() || *last != std::byte{1}) status.Update(absl::InternalError("lost"));
  status.Update(world.Barrier());
  return status;
}

void SleepUpTo50Milliseconds() {
  std::random_device seed;
  absl::SleepFor(absl::Microseconds(std::uniform_int_distribution<int>(0, 50'000)(seed)));
}

int Run(const std::string& what, bool odd_one_out) {
  // weftrun may ask for the end before a busy machine has let this rank speak.
  signal(SIGTERM, SIG_IGN);
  if (what == "bad_heap" && odd_one_out) setenv("WEFT_HEAP_BYTES", "a lot", 1);
  if (what == "unequal" && odd_one_out) setenv("WEFT_HEAP_BYTES", "32M", 1);
  if (what == "skew") SleepUpTo50Milliseconds();
  auto joined = World::Join({});
  if (!joined.ok()) {
    TellStatus(joined.status());
    return 3;
  }
  World world = *std::move(joined);
  if (what == "touch") {
    TellStatus(TouchAll(world, 192 << 20, 64 << 20));
    return 0;
  }
  if (what == "skew") {
    const absl::Status met = world.Barrier();
    SleepUpTo50Milliseconds();
    const absl::Status left = world.Leave();
    return met.ok() && left.ok() ? 0 : 1;
  }
  if (what == "static_world") {
    static_world = std::move(world);
    std::exit(static_world->Barrier().ok() ? 0 : 1);
  }
  if (what == "fork") {
    const pid_t child = fork();
    // The child ends by main's end, with the world on its stack.
    if (child == 0) return world.Barrier().code() == absl::StatusCode::kFailedPrecondition ? 0 : 1;
    int status = -1;
    waitpid(child, &status, 0);
    TellStatus(status == 0 ? world.Barrier() : absl::InternalError("the child failed"));
    return 0;
  }
  if (odd_one_out) {
    if (what == "abort") World::Abort(42, "the disk is full");
    if (what == "return") return 0;
    if (what == "exit") std::exit(0);
    if (what == "status") std::exit(9);
  }
  TellStatus(world.Barrier());
  return 0;
}

}  // namespace
}  // namespace weft::testing

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string odd_one_out = argc > 2 ? argv[2] : "1";
  return weft::testing::Run(argv[1], odd_one_out == weft::testing::Self());
}
