// The hosts of a job, as the launcher sees them: routes what their guards send,
// and decides what the job ends with. Unless the only host is the launcher's own, it
// has the job's authority, and tells all hosts of a failure on one. It knows no process or socket:
// frames and losses come in by calls, and go out through the functions given. Not
// thread-safe.
#ifndef WEFT_TOOLS_WEFTRUN_FLEET_H_
#define WEFT_TOOLS_WEFTRUN_FLEET_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "runtime/authority/job_authority.h"
#include "runtime/authority/job_server.h"
#include "runtime/base/deadline.h"
#include "runtime/base/node_map.h"
#include "tools/weftrun/frame.h"

namespace weft {

class Fleet final : public JobNodes {
 public:
  struct Outside {
    std::function<void(uint32_t host, const Frame& frame)> send;
    // A line for the user, at once.
    std::function<void(const std::string& line)> say;
  };
  struct Policy {
    bool has_authority = true;  // Else the only host's guard has it.
    bool survivors_go_on = false;
  };

  // `hosts`: their names; `map` says which runs a rank.
  Fleet(const NodeMap& map, std::vector<std::string> hosts, Policy policy, Outside outside);

  // What the guard of `host` has sent.
  void Receive(uint32_t host, const Frame& frame);
  // A guard has ended, or its host is out of reach, before it gave its verdict.
  void Lose(uint32_t host, std::string_view why);
  // On a host no guard could be started.
  void FailToStart(uint32_t host, std::string_view why);

  // The user's signal; the job must end because of what happened to the launcher; its time is up.
  void Signal(int signal);
  void CutShort(int code, std::string line);
  void TimeOut(absl::Duration timeout);

  // What is due, and when to call it next.
  void Tick(int64_t now) {
    if (job_) job_->Tick(now);
  }
  Deadline next() const { return job_ ? job_->next() : Deadline(); }

  // Of a host that has given its verdict, or is lost.
  bool ended(uint32_t host) const { return ended_[host]; }
  bool over() const { return running_ == 0; }
  bool decided() const { return decision_.has_value(); }
  // What the job ends with; the line may be empty.
  int code() const { return verdict().code; }
  std::string line() const { return verdict().line; }

  void Answer(Rank to, const WireMessage& answer) override;
  void MakeMemory(const MemoryShape& shape) override;
  void Publish(Rank rank, MemberState state, int wait_status) override;
  void Propose(uint32_t proposal) override;
  void Announce(uint32_t epoch) override;
  void Kill(Rank rank, std::string_view why) override;

 private:
  struct Decision {
    std::optional<uint32_t> host;  // Whose word it is.
    int code = 0;
    std::string line;
  };

  Decision verdict() const;
  // Whether others go on without a host that is lost now.
  bool CanSurvive() const;
  void Survive(uint32_t host, int code, std::string line);
  void Decide(std::optional<uint32_t> host, int code, std::string line);
  void End(uint32_t host, std::string_view how);
  // To all that have not ended.
  void Broadcast(const Frame& frame, std::optional<uint32_t> but = std::nullopt);

  const NodeMap map_;
  const std::vector<std::string> hosts_;
  const Outside outside_;
  std::vector<bool> ended_;
  size_t running_;  // How many have not ended.
  std::optional<JobServer> job_;
  std::optional<Decision> decision_;
  std::optional<Decision> survived_;  // The first failure that did not decide.
  uint64_t ended_well_ = 0;           // How many ranks.
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_FLEET_H_
