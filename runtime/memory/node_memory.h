// The node's shared memory: who makes it, and how a rank maps it.
//
// Three sealed memfds, named nowhere: the heap (all slabs at a fixed stride),
// the control regions, and the membership, which only its maker can write, and
// whose limits cover the slabs of one node. Heap and control regions have room for every rank
// of the job: a rank is at the same place on each node, and what a node has no rank for is
// never touched, so that it costs address space alone. They live as long as somebody has them
// mapped or open, so that nothing is left behind whatever dies. Shrinking is sealed off, so a
// mapped page never faults with SIGBUS.
#ifndef WEFT_RUNTIME_MEMORY_NODE_MEMORY_H_
#define WEFT_RUNTIME_MEMORY_NODE_MEMORY_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/control_layout.h"
#include "runtime/base/mapping.h"
#include "runtime/base/node_fds.h"
#include "runtime/base/node_map.h"
#include "runtime/base/node_view.h"
#include "weft/rank.h"

namespace weft {

// The maker's side: weftrun's guard, or a lone rank itself. It alone writes the
// membership. Not thread-safe.
class NodeAuthority {
 public:
  // Errors name the limit, what was needed, and the cure. More than one of `nodes`: the
  // ranks are to believe that they run on so many (NodeMap::Blocks), and reach no slab of another.
  static absl::StatusOr<NodeAuthority> Create(Rank size, const MemoryShape& shape,
                                              uint32_t nodes = 1);
  // For the ranks of `node` alone, out of those of `map`.
  static absl::StatusOr<NodeAuthority> CreateOn(uint32_t node, const NodeMap& map,
                                                const MemoryShape& shape);

  // Descriptors to hand out to the ranks of `node`, which must be one that this was created
  // for; the membership's cannot be mapped writable.
  absl::StatusOr<NodeFds> Duplicate(uint32_t node = 0) const;

  // Tells the ranks, before any has this memory, that survivors of a failure go on.
  void LetSurvivorsGoOn();

  // Publishes a death or a leave, closes a dead rank's limit, and wakes everybody.
  // `wait_status` as of waitpid; -1 when it is not known.
  void MarkDead(Rank rank, int wait_status);
  void MarkLeft(Rank rank);
  // The dead so far are proposed as a dead set, or are it from `epoch` on. Wakes everybody.
  void Propose(uint32_t proposal);
  void Announce(uint32_t epoch);

 private:
  // What the ranks of a node see of the job's membership.
  struct NodeMembership {
    UniqueFd fd;
    Mapping mapping;
    Membership& operator*() const { return *reinterpret_cast<Membership*>(mapping.get()); }
  };

  explicit NodeAuthority(const NodeMap& map) : map_(map) {}
  static absl::StatusOr<NodeAuthority> Make(const NodeMap& map, uint32_t first_node,
                                            uint32_t end_node, const MemoryShape& shape);
  absl::StatusOr<NodeMembership> MakeMembership(uint32_t node, uint64_t slab_bytes) const;
  void Publish(Rank rank, MemberState state, std::atomic<uint32_t> Membership::*count);
  // After a change of the memberships.
  void WakeAll();

  NodeMap map_;
  uint32_t first_node_ = 0;
  UniqueFd heap_;
  UniqueFd control_fd_;
  Mapping control_;
  std::vector<NodeMembership> memberships_;  // Of first_node_ and those after it.
};

// A rank's side. The mappings last as long as the object.
class NodeMemory {
 public:
  static absl::StatusOr<NodeMemory> Map(const NodeFds& fds, Rank rank, Rank size,
                                        const MemoryShape& shape);

  NodeView view() const;

 private:
  NodeMemory() = default;

  Rank rank_ = 0;
  Rank size_ = 0;
  size_t slab_bytes_ = 0;
  Mapping heap_;
  Mapping control_;
  Mapping membership_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_MEMORY_NODE_MEMORY_H_
