// A job whose ranks are threads of this process: each has a Runtime of its own,
// over one node memory. What the launcher does for processes, this does for them.
#ifndef WEFT_TESTS_SUPPORT_LOCAL_JOB_H_
#define WEFT_TESTS_SUPPORT_LOCAL_JOB_H_

#include <functional>
#include <memory>
#include <optional>

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/world/settings.h"
#include "weft/world.h"

namespace weft::testing {

class LocalJob {
 public:
  explicit LocalJob(Rank size, const World::Options& options = {.heap_bytes = 4 << 20},
                    std::optional<uint64_t> fault_seed = std::nullopt);
  ~LocalJob();

  // Runs `body` on each rank, in a thread of its own, and leaves afterwards. A
  // rank that cannot join, or leave, is a test failure.
  void Run(const std::function<void(World&)>& body);

  // As the guard would, when it has reaped the rank.
  void MarkDead(Rank rank, int wait_status);

 private:
  class Shared;
  class RankBootstrap;

  const Rank size_;
  Settings settings_;
  const std::unique_ptr<Shared> shared_;
};

}  // namespace weft::testing
#endif  // WEFT_TESTS_SUPPORT_LOCAL_JOB_H_
