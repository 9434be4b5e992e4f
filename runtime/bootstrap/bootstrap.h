// How the ranks of a job find each other: who am I, a key-value store to publish
// addresses and keys in, and the word of who died. One interface, several
// sources; Discover picks the one that this process was started under.
//
// Threads: any thread may call; one call is served at a time. Calls block, at
// most until their deadline, and end early with kUnavailable naming the rank
// when a death makes them impossible.
#ifndef WEFT_RUNTIME_BOOTSTRAP_BOOTSTRAP_H_
#define WEFT_RUNTIME_BOOTSTRAP_BOOTSTRAP_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/deadline.h"
#include "runtime/base/job_secret.h"
#include "runtime/base/node_fds.h"
#include "weft/rank.h"

namespace weft {

class Bootstrap {
 public:
  inline static constexpr size_t kMaxKeyBytes = 256;
  inline static constexpr size_t kMaxValueBytes = 16 * 1024;
  // Of what a collective call came to.
  inline static constexpr size_t kMaxResultBytes = 4 * 1024;

  virtual ~Bootstrap() = default;

  virtual Rank rank() const = 0;
  virtual Rank size() const = 0;
  virtual std::string_view source() const = 0;  // "weftrun", "lone"
  // The same on all ranks, and known to them alone.
  virtual const JobSecret& secret() const = 0;

  // Collective over the node's ranks: their shared memory, made once all have
  // asked for the same shape. kInvalidArgument on every rank, naming one that
  // differs, otherwise. nullopt: this source shares none, make your own.
  virtual absl::StatusOr<std::optional<NodeFds>> ShareMemory(const MemoryShape& shape,
                                                             Deadline deadline) = 0;

  // A put is visible to every rank after the next Fence. Keys are put once.
  virtual absl::Status Put(std::string_view key, std::string_view value) = 0;
  virtual absl::StatusOr<std::string> Get(std::string_view key, Deadline deadline) = 0;

  // Collective over all ranks.
  virtual absl::Status Fence(Deadline deadline) = 0;

  // Says that this rank is done: the membership shows it as left.
  virtual absl::Status Leave() = 0;

  // Ends the job with `code`, telling its user `message`. Returns once the
  // request is on its way; the caller ends itself.
  virtual void Abort(int code, std::string_view message) = 0;

  // --- Where survivors of a failure go on (Membership::survivors_go_on). ---

  // Says that this rank has given up the dead of `proposal`. Never waits for a request
  // that is under way.
  virtual void Acknowledge(uint32_t /*proposal*/) {}
  // Says that this rank cannot reach `rank` any more, so that one of the two is to go. Likewise.
  virtual void Accuse(Rank /*rank*/, std::string_view /*why*/) {}

  struct Survivors {
    uint32_t epoch = 0;
    std::vector<Rank> members;  // Those that go on together, ascending.
    // How many collective calls the furthest of them has completed, and what the last came to.
    uint64_t completed = 0;
    std::string result;
  };
  // Collective over all that neither are dead in `epoch` nor have left; `completed` and `result`
  // (at most kMaxResultBytes) are this rank's own. kAborted: another dead set is under way or
  // there already, call again with that. A call that its deadline cut short may have come to
  // an end for its own epoch when it is made again.
  virtual absl::StatusOr<Survivors> Continue(uint32_t /*epoch*/, uint64_t /*completed*/,
                                             std::string_view /*result*/, Deadline) {
    return absl::FailedPreconditionError("this job ends when a rank fails");
  }

  // A rank that is known to have died and was not reported before; never blocks.
  virtual std::optional<Rank> NextDeath() = 0;
};

// The source that this process was started under: weftrun, or none (a lone
// rank). kFailedPrecondition under another launcher, naming what to use.
absl::StatusOr<std::unique_ptr<Bootstrap>> Discover();

}  // namespace weft
#endif  // WEFT_RUNTIME_BOOTSTRAP_BOOTSTRAP_H_
