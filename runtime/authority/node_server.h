// A node's side of the bootstrap: receives its ranks' datagrams, passes on what
// is right of them, makes their shared memory when the job's authority says so,
// and publishes in it who died or left.
//
// It knows of no process or socket: datagrams and deaths come in by calls, and
// what goes out goes through Outside. Not thread-safe.
#ifndef WEFT_RUNTIME_AUTHORITY_NODE_SERVER_H_
#define WEFT_RUNTIME_AUTHORITY_NODE_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/authority/job_authority.h"
#include "runtime/base/node_fds.h"
#include "runtime/base/node_map.h"
#include "runtime/bootstrap/wire.h"
#include "runtime/memory/node_memory.h"
#include "weft/rank.h"

namespace weft {

class NodeServer final : public JobNodes {
 public:
  // What the server wants done. Called from within its other calls.
  class Outside {
   public:
    virtual ~Outside() = default;
    // Must not fail: what the rank does not take now is kept for it. `fds` (may
    // be null) stay the server's.
    virtual void Send(Rank to, const WireMessage& message, const NodeFds* fds) = 0;
    virtual void OnJoined(Rank rank, pid_t process) = 0;
    virtual void OnLeft(Rank rank) = 0;
    virtual void OnAbort(Rank rank, int code, std::string_view message) = 0;
    // Its processes are to end, now; `why` completes "rank 3 was ended: ...".
    virtual void OnCondemned(Rank rank, std::string_view why) = 0;
  };

  // Where a rank of this node stands.
  enum class Standing : uint8_t { kStarted, kJoined, kLeft, kDead, kEndedUnjoined };

  // For the ranks of `node`; nullopt: for all of them, whatever `map` makes them believe.
  // `job` and `outside` must outlive the server.
  NodeServer(const NodeMap& map, std::optional<uint32_t> node, JobAuthority& job, Outside& outside,
             bool survivors_go_on = false);

  // A datagram of `rank`, sent by `process` (0: not known).
  void Receive(Rank rank, pid_t process, std::string_view datagram);
  // As in JobAuthority, of a rank of this node.
  void ReportDeath(Rank rank, int wait_status, std::string_view how);
  void ReportEndedUnjoined(Rank rank);

  Standing standing(Rank rank) const { return members_[rank].standing; }
  // Whether a failure now is survived, as far as this node knows.
  bool survivable() const { return survivors_go_on_ && memory_.has_value(); }

  void Answer(Rank to, const WireMessage& answer) override;
  void MakeMemory(const MemoryShape& shape) override;
  void Publish(Rank rank, MemberState state, int wait_status) override;
  void Propose(uint32_t proposal) override;
  void Announce(uint32_t epoch) override;
  void Kill(Rank rank, std::string_view why) override { outside_.OnCondemned(rank, why); }

 private:
  struct Member {
    Standing standing = Standing::kStarted;
    pid_t process = 0;
    bool welcome = false;  // It knows that it has joined.
  };

  void Join(Rank rank, pid_t process, const WireMessage& request);
  void Refuse(Rank rank, uint32_t id, const absl::Status& status);
  absl::Status TryMakeMemory(const MemoryShape& shape);

  const NodeMap map_;
  const std::optional<uint32_t> node_;
  JobAuthority& job_;
  Outside& outside_;
  const bool survivors_go_on_;
  std::vector<Member> members_;
  std::vector<Rank> dead_;
  std::optional<NodeAuthority> memory_;
  std::vector<NodeFds> fds_;  // To hand out: of `node_`, or by node.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_AUTHORITY_NODE_SERVER_H_
