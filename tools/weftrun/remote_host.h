// A host other than the launcher's, as the launcher sees it: runs the agent (ssh,
// or what the user said) that runs weftrun there as a keeper, speaks with that
// over the agent's standard streams, and says when it is lost. Used by one
// thread.
#ifndef WEFT_TOOLS_WEFTRUN_REMOTE_HOST_H_
#define WEFT_TOOLS_WEFTRUN_REMOTE_HOST_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/base/deadline.h"
#include "tools/weftrun/event_loop.h"
#include "tools/weftrun/frame_stream.h"
#include "tools/weftrun/node_plan.h"

namespace weft {

class RemoteHost {
 public:
  // Called from the loop, from Tick and from OnAgentEnded.
  struct Events {
    std::function<void(const Frame& frame)> on_frame;
    // The last call. Unless the guard has given its verdict, the host is lost because of `why`,
    // or weftrun did not even start there.
    std::function<void(std::string_view why, bool started)> on_ended;
  };

  // `agent`: shell words, to which host and command are added.
  RemoteHost(std::string host, std::string agent, Events events)
      : host_(std::move(host)), agent_(std::move(agent)), events_(std::move(events)) {}

  // Starts the agent, with `mask`, and sends the plan. `remote_weftrun`: where the program is
  // there; empty: where it is here, else on the PATH.
  absl::Status Start(EventLoop& loop, const NodePlan& plan, const std::string& remote_weftrun,
                     const sigset_t& mask);

  void Send(const Frame& frame);
  // The guard has given its verdict: the keeper may go.
  void Release();
  // Whether weftrun runs there.
  bool started() const { return hello_; }
  // The job is ending: a host on which weftrun has not started yet is not waited for.
  void GiveUpStart();

  // The agent's process, and the leader of its group; 0 when it has been reaped.
  pid_t agent() const { return process_; }
  // When a child of the launcher may have ended.
  void Reap();
  // What is due: a heartbeat, or the end of patience. When to call it next.
  void Tick();
  Deadline next() const;

 private:
  void OnFrame(const Frame& frame);
  void OnChannelEnded(const absl::Status& why);
  void OnAgentEnded(int wait_status);
  void End(std::string why);
  // A command for the user, to see whether the agent works.
  std::string Trial() const;
  // Why there is no keeper, as far as the agent's end tells.
  std::string NoKeeper(int wait_status) const;

  const std::string host_;
  const std::string agent_;
  const Events events_;
  std::string command_;
  pid_t process_ = 0;
  std::optional<FrameStream> channel_;
  bool hello_ = false;
  bool released_ = false;
  bool ended_ = false;
  std::string channel_error_;
  int64_t started_ = 0;
  int64_t beat_at_ = 0;
  Deadline agent_patience_;  // To end, after its channel has.
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_REMOTE_HOST_H_
