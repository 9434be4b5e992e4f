// Barriers of all ranks, one after the other: Team::Barrier, or one of two that
// are written by hand on the same memory. tools/bench starts the three in turn.
//   weftrun -n 4 barrier --kind=weft|yield|futex [--barriers=N]
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "bench/measure.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace {

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// The barrier that everybody writes: count, and let the last one start the next
// generation.
struct Lines {
  alignas(128) std::atomic<uint32_t> count;
  alignas(128) std::atomic<uint32_t> generation;
};

// `wait` returns once the generation is not the one given.
template <typename Wait>
bool Last(Lines& lines, uint32_t ranks, Wait wait) {
  const uint32_t generation = lines.generation.load(std::memory_order_acquire);
  if (lines.count.fetch_add(1) + 1 == ranks) {
    lines.count.store(0, std::memory_order_relaxed);
    lines.generation.store(generation + 1);
    return true;
  }
  wait(generation);
  return false;
}

void YieldBarrier(Lines& lines, uint32_t ranks) {
  constexpr int kPauses = 64;
  Last(lines, ranks, [&](uint32_t generation) {
    for (int i = 0; lines.generation.load(std::memory_order_acquire) == generation; ++i) {
      i % (kPauses + 1) == kPauses ? (void)sched_yield() : Pause();
    }
  });
}

void FutexBarrier(Lines& lines, uint32_t ranks) {
  constexpr int kPauses = 1000;
  const auto futex = [&](int operation, uint32_t value) {
    syscall(SYS_futex, &lines.generation, operation, value, nullptr, nullptr, 0);
  };
  const bool last = Last(lines, ranks, [&](uint32_t generation) {
    for (int i = 0; i < kPauses; ++i) {
      if (lines.generation.load(std::memory_order_acquire) != generation) return;
      Pause();
    }
    while (lines.generation.load(std::memory_order_acquire) == generation) {
      futex(FUTEX_WAIT, generation);
    }
  });
  if (last) futex(FUTEX_WAKE, INT_MAX);
}

absl::Status Time(weft::World& world, const std::string& kind, uint64_t barriers,
                  absl::FunctionRef<absl::Status()> barrier) {
  for (int i = 0; i < 200; ++i) WEFT_TRY(barrier());
  const double start = weft::bench::Now();
  for (uint64_t i = 0; i < barriers; ++i) WEFT_TRY(barrier());
  const double ns = (weft::bench::Now() - start) / static_cast<double>(barriers);
  if (world.rank() == 0) {
    std::printf("barrier=%s ranks=%u ns=%.1f\n", kind.c_str(), world.size(), ns);
  }
  return absl::OkStatus();
}

absl::Status Run(weft::World& world, const std::string& kind, uint64_t barriers) {
  if (kind == "weft") return Time(world, kind, barriers, [&] { return world.Barrier(); });
  const auto memory = WEFT_TRY(weft::Symmetric<std::byte>::Create(world, sizeof(Lines)));
  Lines& lines = *reinterpret_cast<Lines*>(weft::Local(memory.at(0)));
  const uint32_t ranks = world.size();
  if (kind == "yield") {
    return Time(world, kind, barriers, [&] {
      YieldBarrier(lines, ranks);
      return absl::OkStatus();
    });
  }
  if (kind == "futex") {
    return Time(world, kind, barriers, [&] {
      FutexBarrier(lines, ranks);
      return absl::OkStatus();
    });
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--kind is weft, yield or futex, not '", kind, "'"));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = weft::bench::TextFlag(argc, argv, "kind").value_or("weft");
  const uint64_t barriers = weft::bench::NumberFlag(argc, argv, "barriers", 10'000);
  return weft::Main([&](weft::World& world) { return Run(world, kind, barriers); });
}
