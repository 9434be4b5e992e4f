// World: this process's membership of its job.
#ifndef WEFT_WORLD_H_
#define WEFT_WORLD_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "weft/dead_set.h"
#include "weft/rank.h"
#include "weft/team.h"

namespace weft {

// Move-only; one a process. Leaves when destroyed.
class World {
 public:
  // What is zero comes from the environment, else has its default. All ranks
  // must ask for the same sizes.
  struct Options {
    // A rank's part of the global heap, in bytes, rounded up to whole pages:
    // WEFT_HEAP_BYTES, 256 MiB. Committed when touched.
    size_t heap_bytes = 0;
    // The part of it for Allocate; the rest is for Symmetric: WEFT_LOCAL_BYTES, a
    // quarter of heap_bytes.
    size_t local_bytes = 0;
    // By when an operation must be complete: WEFT_DEADLINE (such as 30s, 500ms,
    // inf), 30 s.
    absl::Duration deadline = absl::ZeroDuration();
    // By when a wait or a barrier must be over: WEFT_WAIT_DEADLINE, 10 min.
    absl::Duration wait_deadline = absl::ZeroDuration();
  };

  // Joins the job that this process was started in: by weftrun, or as rank 0 of 1
  // by nobody. Collective; blocks until all ranks have joined, at most the waits'
  // deadline. Errors: kInvalidArgument, bad or different options (names a rank);
  // kResourceExhausted, names limit, need and cure; kUnavailable, a rank is dead
  // or has ended without joining; kFailedPrecondition, joined already, or started
  // by a launcher that Weft does not know.
  static absl::StatusOr<World> Join(const Options& options);

  World(World&& other) noexcept;
  World& operator=(World&& other) noexcept;
  // Leave, with errors dropped.
  ~World();

  // Flushes, then leaves the job: blocks until all ranks have left or died, at
  // most the waits' deadline, since peers may still read this rank's slab.
  // Returns what the flush had to report. Everything that refers to this world
  // gets kFailedPrecondition afterwards. A process that joined and ends without
  // leaving has failed, even with status 0.
  absl::Status Leave();

  // Ends the whole job with exit status `code` (1 to 255), and this process with
  // it. The job's launcher tells `message`.
  [[noreturn]] static void Abort(int code, std::string_view message = {});

  Rank rank() const { return rank_; }
  Rank size() const { return size_; }

  // The team of all ranks, but for those that Continue went on without.
  const Team& team() const { return *team_; }
  operator const Team&() const { return *team_; }
  absl::Status Barrier() const { return team_->Barrier(); }

  // --- When ranks die, and the others go on: weftrun --on-failure=notify. ---
  // Within the bounds of a death's becoming known, operations on the dead rank and all waits and
  // collective calls end with kUnavailable. Then the survivors agree on who is dead: from the
  // epoch on that Dead() shows, no dead rank's operation lands anywhere any more.

  // The newest that all survivors have agreed on; never blocks.
  DeadSet Dead() const;

  // Calls `callback` once an epoch, on a thread of the library's, and for the present one, unless
  // that is 0, before OnDeath returns. It must not block, nor make a collective call; operations
  // and waking the program's own threads are what it is for. Called until the World and all that
  // was made through it are gone. Never in a job that ends when a rank fails.
  void OnDeath(std::function<void(const DeadSet&)> callback);

  // Goes on without the dead: collective over the ranks that are alive and have not left, each of
  // which has had kUnavailable from something, or has been called back. Blocks until all have
  // called it, at most the waits' deadline; a death meanwhile only changes who that is. First ends
  // this process's operations, and leaves their errors to Flush. Afterwards
  // they are the world's team, whose indices have no holes: Barrier and the Create functions are
  // among them, and waits are ended by new deaths alone. Symmetric objects and counters stay as
  // they were; what a Create made on some of the ranks only is released. Flush() does not report
  // what was lost at the dead any more, Flush(rank) does. Ranks keep their numbers, and size() is
  // what it was. kFailedPrecondition: nobody has died since, or the job ends when a rank fails.
  absl::Status Continue();

  // The slab of a rank that is dead and ran on this node, read-only, as it left it: an address
  // lies RemotePtr::offset() bytes from its beginning. Valid until Leave. kFailedPrecondition: it
  // is not in Dead(); kUnavailable: it ran on another node, and its memory has gone with it.
  absl::StatusOr<std::span<const std::byte>> Salvage(Rank rank) const;

 private:
  friend class internal::Runtime;
  explicit World(Team team);

  std::optional<Team> team_;  // Empty once moved from.
  Rank rank_ = 0;
  Rank size_ = 0;
};

}  // namespace weft
#endif  // WEFT_WORLD_H_
