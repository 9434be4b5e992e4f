// A Team: an ordered set of ranks that synchronise together.
#ifndef WEFT_TEAM_H_
#define WEFT_TEAM_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "weft/rank.h"

namespace weft {

namespace internal {
class Runtime;
}  // namespace internal

// Cheap to copy. Today a team is the whole world, or those of it that have gone on
// without ranks that died (World::Continue).
class Team {
 public:
  // How many members, and which one this process is. An index is no rank: where ranks have died
  // they differ.
  Rank size() const;
  TeamIndex index() const;
  // The world's rank of a member, which must be below size().
  Rank rank(TeamIndex member) const;

  // Blocks until all members have called it; what each completed before is
  // visible to all afterwards. First flushes this process's operations, and
  // returns what they had to report. At most the waits' deadline:
  // kDeadlineExceeded names the members that are missing, and calling again
  // re-enters the same barrier. kUnavailable, at once, when a member is dead or
  // has left (named), and until World::Continue. One thread at a time.
  absl::Status Barrier() const;

  // The runtime's own.
  const std::shared_ptr<internal::Runtime>& runtime() const { return runtime_; }

 private:
  friend class internal::Runtime;
  explicit Team(std::shared_ptr<internal::Runtime> runtime) : runtime_(std::move(runtime)) {}

  std::shared_ptr<internal::Runtime> runtime_;
};

}  // namespace weft
#endif  // WEFT_TEAM_H_
