// The rendezvous of ranks that share memory: the node's barrier, and an entry a
// rank in its control region, from which every rank draws its own conclusion.
//
// Threads: as rendezvous.h says. The NodeView must outlive the object.
#ifndef WEFT_RUNTIME_SYNC_NODE_RENDEZVOUS_H_
#define WEFT_RUNTIME_SYNC_NODE_RENDEZVOUS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/base/node_view.h"
#include "runtime/sync/node_barrier.h"
#include "runtime/sync/progress.h"
#include "runtime/sync/rendezvous.h"

namespace weft {

class NodeRendezvous final : public Rendezvous {
 public:
  // All ranks must pass the same `configured_cpus`: see NodeBarrier.
  NodeRendezvous(const NodeView& node, Progress progress,
                 uint32_t configured_cpus = ConfiguredCpus());

  bool arrived() const override { return barrier_.arrived(); }
  absl::Status Meet(const CollectiveCall& call, const AgreementBitmap* bitmap, WaitLimit limit,
                    AgreedBitmaps* agreed) override;
  absl::Status Settle(Deadline) override { return absl::OkStatus(); }

 private:
  absl::Status Compare(size_t slot, uint64_t generation) const;
  void Combine(size_t slot, AgreedBitmaps& agreed) const;

  const NodeView node_;
  NodeBarrier barrier_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_SYNC_NODE_RENDEZVOUS_H_
