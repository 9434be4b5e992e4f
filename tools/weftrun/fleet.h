// The hosts of a job, as the launcher sees them: routes what their guards send,
// and decides what the job ends with. Unless the only host is the launcher's own, it
// has the job's authority, and tells all hosts of a failure on one. It knows no process or socket:
// frames and losses come in by calls, and go out through the function given. Not
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
#include "runtime/base/node_map.h"
#include "tools/weftrun/frame.h"

namespace weft {

class Fleet final : public JobNodes {
 public:
  using Send = std::function<void(uint32_t host, const Frame& frame)>;

  // `hosts`: their names; `map` says which runs a rank. `has_authority`: else the only host's
  // guard has it.
  Fleet(const NodeMap& map, std::vector<std::string> hosts, bool has_authority, Send send);

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

  // Of a host that has given its verdict, or is lost.
  bool ended(uint32_t host) const { return ended_[host]; }
  bool over() const { return running_ == 0; }
  bool decided() const { return decision_.has_value(); }
  // What the job ends with; the line may be empty.
  int code() const { return decision_ ? decision_->code : 0; }
  std::string line() const { return decision_ ? decision_->line : ""; }

  void Answer(Rank to, const WireMessage& answer) override;
  void MakeMemory(const MemoryShape& shape) override;
  void Publish(Rank rank, MemberState state, int wait_status) override;

 private:
  struct Decision {
    std::optional<uint32_t> host;  // Whose word it is.
    int code;
    std::string line;
  };

  void Decide(std::optional<uint32_t> host, int code, std::string line);
  void End(uint32_t host, std::string_view how);
  // To all that have not ended.
  void Broadcast(const Frame& frame, std::optional<uint32_t> but = std::nullopt);

  const NodeMap map_;
  const std::vector<std::string> hosts_;
  const Send send_;
  std::vector<bool> ended_;
  size_t running_;  // How many have not ended.
  std::optional<JobServer> job_;
  std::optional<Decision> decision_;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_FLEET_H_
