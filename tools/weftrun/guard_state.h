// The guard's state, for the two sources that it is made of: guard.cc, its life and
// its launcher, and guard_ranks.cc, its ranks. Used by the guard's only thread.
#ifndef WEFT_TOOLS_WEFTRUN_GUARD_STATE_H_
#define WEFT_TOOLS_WEFTRUN_GUARD_STATE_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/authority/job_server.h"
#include "runtime/authority/node_server.h"
#include "runtime/base/unique_fd.h"
#include "tools/weftrun/binding.h"
#include "tools/weftrun/ending.h"
#include "tools/weftrun/event_loop.h"
#include "tools/weftrun/frame_stream.h"
#include "tools/weftrun/guard.h"
#include "tools/weftrun/rank_link.h"
#include "tools/weftrun/spawn.h"
#include "tools/weftrun/uplink.h"

namespace weft {

class Guard final : public NodeServer::Outside {
 public:
  explicit Guard(GuardSetup setup)
      : setup_(std::move(setup)),
        plan_(*setup_.plan),
        options_(plan_.options),
        lifeline_(std::move(setup_.lifeline)),
        uplink_([this](const Frame& frame) {
          // A failure goes first: what it makes others do must not be taken for the cause.
          ReportFailure();
          lifeline_.Send(frame);
        }),
        server_(plan_.map, plan_.node, Authority(), *this, options_.survivors_go_on),
        ranks_(plan_.map.size()) {}

  void Run();

  void Send(Rank to, const WireMessage& message, const NodeFds* fds) override;
  void OnJoined(Rank rank, pid_t process) override;
  void OnLeft(Rank rank) override;
  void OnAbort(Rank rank, int code, std::string_view message) override;
  void OnCondemned(Rank rank, std::string_view why) override;

 private:
  struct RankState {
    pid_t process = 0;  // 0: not started, or ended.
    RankLink link;
    // Of the process that joined, if it is not `process` itself but a child.
    UniqueFd joined_pidfd;
    std::string killed_because;  // By us; empty: it was not.
  };

  // The job's: our own, if this is its only host.
  JobAuthority& Authority();
  // Handles what happens until the deadline or what is due before it.
  void RunOnce(Deadline deadline);
  bool SetUp();
  void StartRanks();
  bool StartRank(Rank rank, size_t index);
  void OnLauncher(const Frame& frame);
  void OnLauncherGone();
  void OnLink(Rank rank);
  void Receive(Rank rank, int limit);
  void OnReaped(pid_t process, int wait_status);
  void OnRankEnded(Rank rank, pid_t process, int wait_status);
  void OnJoinedProcessEnded(Rank rank, pid_t process);
  // Whether the others go on without a rank that fails now. Then it is told, and does not
  // decide how the job ends.
  bool Survived(int code, const std::string& who_and_how);
  void Take(Ending::Step step);
  void SignalRanks(int signal);
  void OnTimeout();
  void KillAll();
  // Tells the launcher, once, what has decided how the job ends.
  void ReportFailure();
  void Report();

  void CannotStart(std::string why);
  std::string Name(Rank rank, pid_t process) const;
  void Narrate(std::string text);

  GuardSetup setup_;
  const NodePlan& plan_;
  const Options& options_;
  const std::vector<Rank> own_ = plan_.Ranks();
  const std::vector<int> cpus_ = AllowedCpus();
  EventLoop loop_;
  FrameStream lifeline_;
  UniqueFd child_signals_;
  UniqueFd empty_stdin_;
  SpawnFailures failures_;
  Uplink uplink_;
  std::optional<JobServer> job_;
  NodeServer server_;
  std::vector<RankState> ranks_;
  std::unordered_map<pid_t, Rank> rank_of_;  // Of the ranks that run.
  Ending ending_;
  bool failure_reported_ = false;
  uint32_t ended_well_ = 0;  // How many ranks.
  Deadline timeout_;
  // The rank whose child failed in its place; its own end may tell more.
  std::optional<Rank> unexplained_;
  std::string not_killed_;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_GUARD_STATE_H_
