// A node for tests: control regions, membership and small slabs in memory that
// forked ranks share, with the calling test as its guard.
#ifndef WEFT_TESTS_RUNTIME_SYNC_SHARED_NODE_H_
#define WEFT_TESTS_RUNTIME_SYNC_SHARED_NODE_H_

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <vector>

#include "runtime/base/mapping.h"
#include "runtime/base/node_view.h"

namespace weft {

class SharedNode {
 public:
  static constexpr size_t kSlabBytes = 64 * 1024;

  explicit SharedNode(Rank size);

  NodeView view(Rank rank) const;
  Membership& membership() const;

  // As the guard does: publishes, and wakes everybody.
  void MarkDead(Rank rank, int wait_status) const;
  void MarkLeft(Rank rank) const;

  // A word of the slab of rank 0 for the test's own use; all zero at first.
  std::atomic<uint64_t>& word(size_t index) const;

  // Forks the ranks, each running `body` with its view; returns their wait
  // statuses. A rank whose body had a failure exits with status 1. Those that
  // end otherwise than with status 0 are marked dead at once, the rest are not
  // marked at all. The ranks die with the test.
  std::vector<int> Run(const std::function<void(const NodeView&)>& body) const;

 private:
  void Publish(Rank rank, MemberState state, std::atomic<uint32_t>& count) const;

  Rank size_;
  Mapping heap_;
  Mapping control_;
  Mapping membership_;
};

// Whether all ended with status 0.
bool AllSucceeded(const std::vector<int>& wait_statuses);

}  // namespace weft
#endif  // WEFT_TESTS_RUNTIME_SYNC_SHARED_NODE_H_
