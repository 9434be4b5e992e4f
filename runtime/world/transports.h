// Which transport a rank's operations go through, as its settings choose: made here,
// and nowhere else, so that all above sees the seam alone.
#ifndef WEFT_RUNTIME_WORLD_TRANSPORTS_H_
#define WEFT_RUNTIME_WORLD_TRANSPORTS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/base/node_view.h"
#include "runtime/transport/transport.h"
#include "runtime/world/settings.h"

namespace weft {

// `node` must outlive it. Errors say what the machine lacks, and what to do.
absl::StatusOr<std::unique_ptr<Transport>> MakeTransport(const Settings& settings,
                                                         const NodeView& node);

}  // namespace weft
#endif  // WEFT_RUNTIME_WORLD_TRANSPORTS_H_
