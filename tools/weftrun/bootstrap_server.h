// The guard's side of the bootstrap: answers the ranks' requests, holds the
// key-value store, completes fences, makes the node's shared memory once all
// ranks have asked for it, and spreads the word of deaths.
//
// It knows of no process or socket: datagrams and deaths come in by calls, and
// what goes out goes through Outside. Not thread-safe.
#ifndef WEFT_TOOLS_WEFTRUN_BOOTSTRAP_SERVER_H_
#define WEFT_TOOLS_WEFTRUN_BOOTSTRAP_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/job_secret.h"
#include "runtime/base/node_fds.h"
#include "runtime/bootstrap/wire.h"
#include "runtime/memory/node_memory.h"
#include "weft/rank.h"

namespace weft {

class BootstrapServer {
 public:
  // What the server wants done. Called from within Receive and the reports.
  class Outside {
   public:
    virtual ~Outside() = default;
    // Must not fail: what the rank does not take now is kept for it. `fds` (may
    // be null) stay the server's.
    virtual void Send(Rank to, const WireMessage& message, const NodeFds* fds) = 0;
    virtual void OnJoined(Rank rank, pid_t process) = 0;
    virtual void OnLeft(Rank rank) = 0;
    virtual void OnAbort(Rank rank, int code, std::string_view message) = 0;
  };

  // Where a rank stands.
  enum class Standing : uint8_t { kStarted, kJoined, kLeft, kDead, kEndedUnjoined };

  // `outside` must outlive the server. The ranks are told that they run on so many nodes.
  BootstrapServer(Rank size, Outside& outside, uint32_t nodes = 1);

  // A datagram of `rank`, sent by `process` (0: not known).
  void Receive(Rank rank, pid_t process, std::string_view datagram);

  // `wait_status` as of waitpid, -1 when it is not known; `how` completes "rank 3 ...".
  void ReportDeath(Rank rank, int wait_status, std::string_view how);
  // A process that never joined has ended well.
  void ReportEndedUnjoined(Rank rank);

  Standing standing(Rank rank) const { return members_[rank].standing; }

 private:
  struct Member {
    Standing standing = Standing::kStarted;
    pid_t process = 0;
    // The collective request that this rank waits in.
    std::optional<WireMessage> waiting;
    bool has_memory = false;
  };
  struct Entry {
    Rank owner;
    std::string value;
  };

  void Answer(Rank rank, uint32_t id, const absl::Status& status);
  void Join(Rank rank, pid_t process, uint32_t id);
  void Put(Rank rank, const WireMessage& request);
  void Get(Rank rank, const WireMessage& request);
  void Leave(Rank rank, uint32_t id);
  void EnterCollective(Rank rank, WireMessage request);
  void CompleteCollective();
  // OK and the memory made, or why there can be none.
  absl::Status MakeMemory();
  // `rank` can take part in no collective call any more; who waits hears it.
  void LoseMember(Rank rank, Standing standing, std::string why);
  std::string WhoIsMissing() const;

  const Rank size_;
  const JobSecret secret_ = MakeJobSecret();
  const uint32_t nodes_;
  Outside& outside_;
  std::vector<Member> members_;
  Rank waiting_ = 0;  // How many are in a collective request.
  std::vector<Rank> dead_;
  std::string first_loss_;  // Why no collective call can complete; empty: they can.
  std::unordered_map<std::string, Entry> store_;
  std::optional<NodeAuthority> memory_;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_BOOTSTRAP_SERVER_H_
