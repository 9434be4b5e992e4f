// The barrier of a node's ranks, on the lines in the control region of rank 0.
//
// What makes it fast with more ranks than cpus: a rank that arrives sees whether
// another is still missing on its own cpu, and then yields at once, since
// spinning would only keep that one from arriving; when nobody is missing there
// it spins for some microseconds, which is how long the others take. Who is
// where is a hint: a rank that was moved is counted right all the same.
//
// Threads: one call at a time; runtime/sync/agreement.h guards that. The NodeView
// must outlive the object.
#ifndef WEFT_RUNTIME_SYNC_NODE_BARRIER_H_
#define WEFT_RUNTIME_SYNC_NODE_BARRIER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/base/deadline.h"
#include "runtime/base/node_view.h"
#include "runtime/base/waiter.h"
#include "runtime/sync/progress.h"

namespace weft {

// How many cpus this machine can have; alike in all processes of a node.
uint32_t ConfiguredCpus();

class NodeBarrier {
 public:
  // All ranks must pass the same `configured_cpus`, which chooses the algorithm.
  NodeBarrier(const NodeView& node, Progress progress, uint32_t configured_cpus = ConfiguredCpus());
  NodeBarrier(const NodeBarrier&) = delete;
  NodeBarrier& operator=(const NodeBarrier&) = delete;

  // The generation that this rank is in: the next Enter completes it.
  uint64_t generation() const { return generation_; }

  // Whether this rank has arrived in it, in an Enter that ended with an error.
  bool arrived() const { return arrived_; }

  // This rank's entry of this generation. Written only before the arrival; Enter
  // publishes it.
  CollectiveEntry& entry() { return node_.control(node_.rank).entries[generation_ % 2]; }

  // Makes every rank's Enter of this generation say that it must be compared.
  void RequireComparison();

  // Arrives, unless this rank already has, and waits for all. OK: this rank is in
  // the next generation, and `compare` says whether the entries of the one that
  // completed must be compared. kUnavailable: a member that is dead or has left,
  // named. kDeadlineExceeded: names the ranks that are missing. After an error
  // this rank has arrived and the next Enter waits for the same generation.
  absl::Status Enter(WaitLimit limit, bool& compare);

 private:
  enum class Algorithm { kByCpu, kCounter };

  // Both return whether this was the last to arrive, and set `spins_`.
  bool ArriveByCpu();
  bool ArriveByCounter();
  void Release();
  bool Complete() const;
  // Looks `spins_` times, a pause apart.
  bool SpinUntilComplete() const;
  absl::Status WaitForAll(Deadline deadline);
  bool HasArrived(Rank rank) const;
  absl::Status LateError() const;

  const NodeView node_;
  NodeBarrierLines& lines_;
  const Algorithm algorithm_;
  const bool oversubscribed_;
  const Progress progress_;
  Waiter waiter_;
  uint64_t generation_ = 1;
  bool arrived_ = false;
  int spins_ = 0;          // For the wait after the arrival.
  uint64_t cpu_unit_ = 0;  // What this rank has added to the population.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_SYNC_NODE_BARRIER_H_
