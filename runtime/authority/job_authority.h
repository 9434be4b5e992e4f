// What the nodes of a job and its one authority tell each other. The authority
// (JobServer) is in the guard where the job has one host, and in the launcher
// where it has several; a node's part (NodeServer) is always in its guard. Both
// directions are calls, which the links between hosts turn into frames and back:
// neither side knows which it is. Calls of one direction arrive in order. Not
// thread-safe.
#ifndef WEFT_RUNTIME_AUTHORITY_JOB_AUTHORITY_H_
#define WEFT_RUNTIME_AUTHORITY_JOB_AUTHORITY_H_

#include <string_view>

#include "absl/status/status.h"
#include "runtime/base/control_layout.h"
#include "runtime/base/node_fds.h"
#include "runtime/bootstrap/wire.h"
#include "weft/rank.h"

namespace weft {

// Up: from a node.
class JobAuthority {
 public:
  virtual ~JobAuthority() = default;

  // What a rank asks for, its joining included, that its node does not answer itself.
  virtual void Request(Rank rank, const WireMessage& request) = 0;
  // A rank has died: `wait_status` as of waitpid, -1 when it is not known; `how` completes
  // "rank 3 ...".
  virtual void ReportDeath(Rank rank, int wait_status, std::string_view how) = 0;
  // A process that never joined has ended well.
  virtual void ReportEndedUnjoined(Rank rank) = 0;
  // The answer to MakeMemory.
  virtual void ReportMemory(const absl::Status& status) = 0;
};

// Down: to the nodes.
class JobNodes {
 public:
  virtual ~JobNodes() = default;

  // To the rank. One of type kMemory takes its node's descriptors along.
  virtual void Answer(Rank to, const WireMessage& answer) = 0;
  // To every node: make the memory of your ranks, and report.
  virtual void MakeMemory(const MemoryShape& shape) = 0;
  // To every node: this rank has died or left.
  virtual void Publish(Rank rank, MemberState state, int wait_status) = 0;

  // Where survivors go on. To every node: the dead so far are proposed as a dead set, or are it
  // from an epoch on.
  virtual void Propose(uint32_t proposal) = 0;
  virtual void Announce(uint32_t epoch) = 0;
  // To the rank's node: end it, because of `why`, which completes "rank 3 was ended: ...".
  virtual void Kill(Rank rank, std::string_view why) = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_AUTHORITY_JOB_AUTHORITY_H_
