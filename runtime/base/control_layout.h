// What the ranks of a node share beside their slabs: one control region a rank,
// which every rank of the node may write, and those of other nodes through a
// transport; and the membership, which the guard
// alone may write. Both are memory of several processes: only lock-free atomics
// and plain data, no pointers, no constructors that run twice. All zero is the
// initial state. A wild write into a control region may delay a program; it
// must never crash the runtime, so nothing read from here is trusted as an
// index or a length without a check.
#ifndef WEFT_RUNTIME_BASE_CONTROL_LAYOUT_H_
#define WEFT_RUNTIME_BASE_CONTROL_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "weft/rank.h"

namespace weft {

// Two cache lines: the prefetcher fetches lines in pairs.
inline constexpr size_t kLineBytes = 128;
// Half for the notification counters, most of the rest for what ranks of several
// nodes send each other in a collective call: a kilobyte a round, twice.
inline constexpr size_t kControlBytes = 128 * 1024;
inline constexpr uint32_t kMaxCounters = 448;
inline constexpr uint32_t kMaxSymmetricObjects = 4096;
// So many doublings reach all ranks from one.
inline constexpr uint32_t kMaxRounds = 16;
static_assert(uint64_t{1} << kMaxRounds > kMaxRanks);
// A CallSummary (runtime/sync): two calls, each with its rank, and two bitmaps.
inline constexpr size_t kCallSummaryWords = 2 * 4 + 2 * kMaxSymmetricObjects / 64;

// Somebody may sleep here; runtime/base/doorbell.h has the protocol.
struct alignas(kLineBytes) DoorbellLine {
  std::atomic<uint32_t> word;   // The futex word, added to at each wake.
  std::atomic<uint32_t> state;  // 1: somebody sleeps, or is about to.
};

// The barrier of a node's ranks; the one of the node's lowest rank is in use.
struct NodeBarrierLines {
  // Who has arrived: one byte a cpu, reset by the last; or a plain count of all.
  alignas(kLineBytes) std::atomic<uint64_t> arrived;
  alignas(kLineBytes) std::atomic<uint64_t> population;  // One byte a cpu: who is there.
  alignas(kLineBytes) std::atomic<uint64_t> generation;  // The last barrier that completed.
  // Slot generation % 2: the generation whose entries must be compared.
  std::atomic<uint64_t> checked[2];
  DoorbellLine doorbell;
};

// What one rank brought to a collective call. Slot generation % 2 of its owner,
// so that a rank that is one barrier ahead does not overwrite what is still read.
struct alignas(kLineBytes) CollectiveEntry {
  std::atomic<uint64_t> generation;  // Stored last, when the rank arrives.
  std::atomic<uint64_t> kind;
  std::atomic<uint64_t> arguments[2];
  std::atomic<uint64_t> bitmap[kMaxSymmetricObjects / 64];
};

// What a rank of another node sends in one round of a collective call: the put of a
// summary, where one is needed, whose signal is the word.
struct alignas(kLineBytes) RoundSlot {
  std::atomic<uint64_t> word;
  uint64_t summary[kCallSummaryWords];
};

// The collective calls of a job of several nodes; runtime/sync/job_rendezvous.h has
// the protocol.
struct RendezvousLines {
  // How far the owner has come: written by itself, for those that ask.
  alignas(kLineBytes) std::atomic<uint64_t> state;
  RoundSlot rounds[2][kMaxRounds];  // By generation % 2.
};

struct alignas(kLineBytes) CounterLine {
  std::atomic<uint64_t> arrivals;
};

struct ControlRegion {
  DoorbellLine doorbell;
  NodeBarrierLines barrier;
  CollectiveEntry entries[2];
  CounterLine counters[kMaxCounters];
  RendezvousLines rendezvous;
};
static_assert(sizeof(ControlRegion) <= kControlBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

enum class MemberState : uint8_t { kAlive = 0, kLeft = 1, kDead = 2 };

// Written by the guard (a lone rank's guard is itself); ranks map it read-only.
struct Membership {
  // Added to, as a futex, after every change of what is below; wait loops look at this one word.
  alignas(kLineBytes) std::atomic<uint32_t> changes;
  std::atomic<uint32_t> dead;  // How many are dead.
  std::atomic<uint32_t> left;  // How many have left.

  alignas(kLineBytes) std::atomic<MemberState> state[kMaxRanks + 1];
  // In which order ranks died or left, from 1 on: what ended later may have done so because
  // of what ended first.
  alignas(kLineBytes) std::atomic<uint32_t> lost_at[kMaxRanks + 1];
  // The wait status (waitpid) of a dead rank; -1 when it is not known.
  alignas(kLineBytes) std::atomic<int32_t> wait_status[kMaxRanks + 1];

  // Where survivors of a failure go on: 1; never changes.
  alignas(kLineBytes) std::atomic<uint32_t> survivors_go_on;
  // The last dead set that was proposed: whoever is alive gives those ranks up, and acknowledges.
  std::atomic<uint32_t> proposal;
  // The last that was acknowledged by all: the version of the membership.
  std::atomic<uint32_t> epoch;
  // From which epoch on a rank is in the dead set; 0: in none yet. Never changes again.
  alignas(kLineBytes) std::atomic<uint32_t> dead_since[kMaxRanks + 1];

  // On which node each rank runs; never changes.
  alignas(kLineBytes) std::atomic<uint16_t> node[kMaxRanks + 1];

  // Indexed by the top 16 bits of a RemotePtr (rank + 1): the address behind that
  // slab, in 8-byte words. 0 for null, and for a dead rank.
  alignas(4096) std::atomic<uint64_t> limit[kMaxRanks + 1];
};

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_CONTROL_LAYOUT_H_
