// How a rank reaches the others, as its settings and the job's nodes have it: which
// transport its Engine gets, and what loads and stores do without the Engine. Chosen
// here, and nowhere else, so that all above sees the seam alone.
#ifndef WEFT_RUNTIME_WORLD_TRANSPORTS_H_
#define WEFT_RUNTIME_WORLD_TRANSPORTS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/base/deadline.h"
#include "runtime/base/node_view.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/transport/transport.h"
#include "runtime/world/settings.h"

namespace weft {

struct Reaching {
  // Carries out all that is not inlined.
  std::unique_ptr<Transport> transport;
  // Whether loads and stores reach the slabs of this rank's node, and whether its
  // processor's atomics on them exclude all others.
  bool inlines = false;
  bool inlines_atomics = false;
};

// `node` must outlive it. Collective over the job's ranks where they have a choice: all take RDMA
// if all can, else TCP; by `bootstrap` they tell each other. Errors say what the machine lacks, and
// what to do.
absl::StatusOr<Reaching> ChooseReaching(const Settings& settings, uint32_t nodes,
                                        const NodeView& node, Bootstrap& bootstrap,
                                        Deadline deadline);

}  // namespace weft
#endif  // WEFT_RUNTIME_WORLD_TRANSPORTS_H_
