// Runtime: everything of one rank, put together.
//
// A process has one, which World::Join makes and installs for the inline path;
// a test process may have several, one a thread. Shared by the World and by all
// that was made through it, so that an object that outlives the World gets an
// error instead of reaching into freed memory. Any thread may call.
#ifndef WEFT_RUNTIME_WORLD_RUNTIME_H_
#define WEFT_RUNTIME_WORLD_RUNTIME_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/deadline.h"
#include "runtime/base/node_view.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/engine/engine.h"
#include "runtime/memory/arena.h"
#include "runtime/memory/node_memory.h"
#include "runtime/sync/agreement.h"
#include "runtime/sync/notifications.h"
#include "runtime/sync/progress.h"
#include "runtime/world/counter_ids.h"
#include "runtime/world/death_watch.h"
#include "runtime/world/process.h"
#include "runtime/world/settings.h"
#include "runtime/world/symmetric_heap.h"
#include "weft/internal/reach.h"
#include "weft/world.h"

namespace weft::internal {

class Runtime : public std::enable_shared_from_this<Runtime> {
 public:
  // Joins the job: collective, see World::Join.
  static absl::StatusOr<std::shared_ptr<Runtime>> Join(std::unique_ptr<Bootstrap> bootstrap,
                                                       const Settings& settings);
  ~Runtime();

  // A World on this runtime. The process's own leaves the inline path when it does.
  World MakeWorld();

  // Collective; see World::Leave. A second call returns kFailedPrecondition.
  absl::Status Leave();
  void Abort(int code, std::string_view message) { bootstrap_->Abort(code, message); }

  // Whether this process was forked from the rank.
  bool forked() const { return fork_generation_ != ForkGeneration(); }
  // OK while this process is a member: not after Leave, nor in a forked child.
  absl::Status Usable() const;
  bool usable() const { return !forked() && !left_.load(std::memory_order_relaxed); }

  Rank rank() const { return node_.rank; }
  Rank size() const { return node_.size; }
  const NodeView& node() const { return node_; }
  const Reach& reach() const { return reach_; }

  Deadline OperationDeadline() const { return Deadline::After(settings_.deadline); }
  const WaitLimit& LimitOfOperations() const { return operation_limit_; }
  Deadline WaitDeadline() const { return Deadline::After(settings_.wait_deadline); }
  WaitLimit LimitOfWaits() const { return WaitLimit::For(settings_.wait_deadline); }

  // The collective calls flush first, so that nothing posted earlier lands behind them;
  // the others meet this rank whatever its flush had to report. See Team::Barrier,
  // Symmetric::Create, NotificationCounter::Create.
  absl::Status Barrier();
  absl::StatusOr<SymmetricHeap::Object> CreateSymmetric(uint64_t count, uint64_t size,
                                                        uint64_t alignment);
  absl::StatusOr<uint32_t> CreateCounter();

  Engine& engine() { return *engine_; }
  NotificationState& notifications() { return *notifications_; }
  SymmetricHeap& symmetric() { return *symmetric_; }
  CounterIds& counters() { return *counters_; }

  // --- survival.cc: see World. ---
  DeadSet Dead() const;
  void OnDeath(std::function<void(const DeadSet&)> callback);
  absl::Status Continue();
  absl::StatusOr<std::span<const std::byte>> Salvage(Rank rank) const;
  // Those that take part in collective calls, ascending; null: all ranks.
  std::shared_ptr<const std::vector<Rank>> members() const;

  absl::StatusOr<uint64_t> AllocateLocal(size_t count, size_t size, size_t alignment);
  absl::Status FreeLocal(uint64_t bits);

 private:
  Runtime(std::unique_ptr<Bootstrap> bootstrap, const Settings& settings);
  absl::Status Connect();
  // Where survivors go on.
  void WatchDeaths();
  // What the collective calls and Leave do first.
  absl::Status FlushEarlier();
  absl::Status WaitUntilAllLeft(Deadline deadline);
  // Waits until the others have agreed on a dead set that is new to the program.
  absl::StatusOr<uint32_t> AwaitEpoch(Deadline deadline);
  // Whether somebody is dead whose death the program has not accepted, or will be: one of this
  // rank and a peer that its transport has lost.
  bool HasLost();

  const std::unique_ptr<Bootstrap> bootstrap_;
  const Settings settings_;
  const WaitLimit operation_limit_;
  const uint64_t fork_generation_;

  // Where a lone rank is its own guard.
  std::optional<NodeAuthority> authority_;
  std::optional<NodeMemory> memory_;
  NodeView node_;
  std::atomic<uint32_t> accepted_epoch_ = 0;  // Of node_.
  std::vector<uint64_t> bias_;
  Reach reach_;

  std::unique_ptr<Registration> slab_registration_;
  std::unique_ptr<Registration> control_registration_;
  std::unique_ptr<Engine> engine_;
  Progress progress_;
  std::unique_ptr<Agreement> agreement_;
  std::unique_ptr<NotificationState> notifications_;
  std::unique_ptr<SymmetricHeap> symmetric_;
  std::unique_ptr<CounterIds> counters_;

  mutable absl::Mutex members_lock_;
  std::shared_ptr<const std::vector<Rank>> members_ ABSL_GUARDED_BY(members_lock_);

  absl::Mutex local_lock_;
  std::optional<Arena> local_ ABSL_GUARDED_BY(local_lock_);

  std::atomic<bool> left_ = false;

  absl::Mutex lost_lock_;
  std::vector<Rank> lost_ ABSL_GUARDED_BY(lost_lock_);  // By the transport, though alive.

  std::unique_ptr<DeathWatch> death_watch_;  // Where survivors go on. The first to end.
};

}  // namespace weft::internal
#endif  // WEFT_RUNTIME_WORLD_RUNTIME_H_
