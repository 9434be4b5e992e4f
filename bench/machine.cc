// What the machine is like right now, to judge the other figures by: how long
// two processes on one cpu take to hand over by yielding, two on two cpus to
// pass a cache line, and by a futex.
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/measure.h"

namespace {

struct Shared {
  alignas(128) std::atomic<uint32_t> ready;
  alignas(128) std::atomic<uint32_t> turn;
};

std::vector<int> Cpus() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cpus.push_back(i);
  }
  return cpus;
}

void Pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

void Pass(Shared& s, uint32_t side, uint32_t trips, void (*wait)(Shared&, uint32_t seen),
          void (*wake)(Shared&)) {
  for (uint32_t i = 0; i < trips; ++i) {
    for (uint32_t seen; ((seen = s.turn.load()) & 1) != side;) wait(s, seen);
    s.turn.fetch_add(1);
    wake(s);
  }
}

// The best of some blocks, in ns one way.
double OneWay(int cpu, int partner_cpu, void (*wait)(Shared&, uint32_t), void (*wake)(Shared&)) {
  constexpr uint32_t kBlocks = 10, kTrips = 1000;
  auto* const shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  const pid_t child = fork();
  if (child < 0) {
    std::perror("fork");
    std::exit(1);
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Pin(partner_cpu);
    shared->ready.store(1);
    Pass(*shared, 1, kBlocks * kTrips, wait, wake);
    _exit(0);
  }
  Pin(cpu);
  while (shared->ready.load() == 0) sched_yield();
  std::vector<double> ns;
  for (uint32_t i = 0; i < kBlocks; ++i) {
    const double start = weft::bench::Now();
    Pass(*shared, 0, kTrips, wait, wake);
    ns.push_back((weft::bench::Now() - start) / (2 * kTrips));
  }
  waitpid(child, nullptr, 0);
  munmap(shared, sizeof(Shared));
  return weft::bench::Quantile(ns, 0.1);
}

}  // namespace

int main() {
  const std::vector<int> cpus = Cpus();
  const auto nothing = [](Shared&) {};
  const auto spin = [](Shared&, uint32_t) {};
  const auto yield = [](Shared&, uint32_t) { sched_yield(); };
  const auto sleep = [](Shared& s, uint32_t seen) {
    syscall(SYS_futex, &s.turn, FUTEX_WAIT, seen, nullptr, nullptr, 0);
  };
  const auto wake = [](Shared& s) {
    syscall(SYS_futex, &s.turn, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  };
  std::printf("cpus=%zu switch_ns=%.0f", cpus.size(), OneWay(cpus[0], cpus[0], yield, nothing));
  if (cpus.size() > 1) {
    std::printf(" cacheline_ns=%.0f wake_ns=%.0f", OneWay(cpus[0], cpus[1], spin, nothing),
                OneWay(cpus[0], cpus[1], sleep, wake));
  }
  std::printf("\n");
}
