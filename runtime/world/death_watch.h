// For a rank of a job whose survivors go on: a thread that sleeps until the membership
// changes. When a dead set is proposed it has those ranks given up, and acknowledges; of
// each epoch it tells the program. It needs nobody to call in, so that a rank that
// computes holds no other up.
//
// The membership and what the actions use must outlive it. Destruction waits for a call
// that is under way.
#ifndef WEFT_RUNTIME_WORLD_DEATH_WATCH_H_
#define WEFT_RUNTIME_WORLD_DEATH_WATCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/node_view.h"
#include "weft/dead_set.h"

namespace weft {

// The newest.
DeadSet ReadDeadSet(const NodeView& node);

class DeathWatch {
 public:
  struct Actions {
    std::function<void()> abandon_dead;
    std::function<void(uint32_t proposal)> acknowledge;
  };

  DeathWatch(const NodeView& node, Actions actions);
  ~DeathWatch();
  DeathWatch(const DeathWatch&) = delete;
  DeathWatch& operator=(const DeathWatch&) = delete;

  // Calls `callback` for the present epoch, if there is one, here, and for each later one from
  // the watch's own thread.
  void Tell(std::function<void(const DeadSet&)> callback);

 private:
  struct Listener {
    std::function<void(const DeadSet&)> callback;
    uint32_t told = 0;  // The last epoch.
  };

  void Run();
  void Acknowledge();
  void TellListeners();

  const NodeView node_;
  const Actions actions_;
  uint32_t acknowledged_ = 0;
  absl::Mutex lock_;
  std::list<Listener> listeners_ ABSL_GUARDED_BY(lock_);  // Only added to.
  std::atomic<bool> stop_ = false;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_WORLD_DEATH_WATCH_H_
