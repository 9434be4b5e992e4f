#include "runtime/world/death_watch.h"

#include <signal.h>

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "runtime/base/futex.h"

namespace weft {

DeadSet ReadDeadSet(const NodeView& node) {
  const Membership& membership = *node.membership;
  DeadSet dead = {.epoch = membership.epoch.load(std::memory_order_acquire), .ranks = {}};
  for (Rank rank = 0; dead.epoch != 0 && rank < node.size; ++rank) {
    const uint32_t since = membership.dead_since[rank].load(std::memory_order_acquire);
    if (since != 0 && since <= dead.epoch) dead.ranks.push_back(rank);
  }
  return dead;
}

DeathWatch::DeathWatch(const NodeView& node, Actions actions)
    : node_(node), actions_(std::move(actions)) {
  // Signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

DeathWatch::~DeathWatch() {
  stop_.store(true, std::memory_order_seq_cst);
  // It may be about to sleep on a word that only the guard can change.
  while (!stopped_.load(std::memory_order_acquire)) {
    FutexWakeAll(node_.membership->changes);
    absl::SleepFor(absl::Microseconds(100));
  }
  thread_.join();
}

void DeathWatch::Tell(std::function<void(const DeadSet&)> callback) {
  const DeadSet present = ReadDeadSet(node_);
  if (present.epoch != 0) callback(present);
  absl::MutexLock lock(&lock_);
  listeners_.push_back({.callback = std::move(callback), .told = present.epoch});
}

void DeathWatch::Run() {
  const Membership& membership = *node_.membership;
  while (!stop_.load(std::memory_order_seq_cst)) {
    const uint32_t seen = membership.changes.load(std::memory_order_seq_cst);
    Acknowledge();
    TellListeners();
    if (!stop_.load(std::memory_order_seq_cst)) FutexWait(membership.changes, seen);
  }
  stopped_.store(true, std::memory_order_release);
}

void DeathWatch::Acknowledge() {
  const uint32_t proposal = node_.membership->proposal.load(std::memory_order_acquire);
  if (proposal == acknowledged_) return;
  actions_.abandon_dead();
  actions_.acknowledge(proposal);
  acknowledged_ = proposal;
}

void DeathWatch::TellListeners() {
  const uint32_t epoch = node_.membership->epoch.load(std::memory_order_acquire);
  if (epoch == 0) return;
  std::vector<Listener*> due;
  {
    absl::MutexLock lock(&lock_);
    for (Listener& listener : listeners_) {
      if (listener.told < epoch) due.push_back(&listener);
    }
  }
  if (due.empty()) return;
  const DeadSet dead = ReadDeadSet(node_);
  // Not under the lock: they may add others.
  for (Listener* listener : due) {
    listener->told = dead.epoch;
    listener->callback(dead);
  }
}

}  // namespace weft
