// A job's authority that is elsewhere, as a node's guard sees it: turns its calls
// into frames of the guard's life-line, and the frames that come back into calls
// on the node. Not thread-safe.
#ifndef WEFT_TOOLS_WEFTRUN_UPLINK_H_
#define WEFT_TOOLS_WEFTRUN_UPLINK_H_

#include <functional>
#include <string_view>
#include <utility>

#include "runtime/authority/job_authority.h"
#include "tools/weftrun/frame.h"

namespace weft {

class Uplink final : public JobAuthority {
 public:
  explicit Uplink(std::function<void(const Frame&)> send) : send_(std::move(send)) {}

  void Request(Rank rank, const WireMessage& request) override;
  void ReportDeath(Rank rank, int wait_status, std::string_view how) override;
  void ReportEndedUnjoined(Rank rank) override;
  void ReportMemory(const absl::Status& status) override;

 private:
  const std::function<void(const Frame&)> send_;
};

// The other way: the frame that says what a JobNodes call does.
Frame AnswerFrame(Rank to, const WireMessage& answer);
Frame MakeMemoryFrame(const MemoryShape& shape);
Frame PublishFrame(Rank rank, MemberState state, int wait_status);
Frame ProposeFrame(uint32_t proposal);
Frame AnnounceFrame(uint32_t epoch);
Frame KillFrame(Rank rank, std::string_view why);

// Makes the call that a frame stands for. False when it stands for none, or for nothing
// that can be right in a job of `size` ranks.
bool CallNode(const Frame& frame, Rank size, JobNodes& node);
bool CallAuthority(const Frame& frame, Rank size, JobAuthority& authority);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_UPLINK_H_
