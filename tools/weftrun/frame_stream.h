// Two descriptors that carry frames, one each way, in an event loop: sends
// without ever blocking, puts together what arrives, and tells when the other
// side is gone. Used by one thread.
#ifndef WEFT_TOOLS_WEFTRUN_FRAME_STREAM_H_
#define WEFT_TOOLS_WEFTRUN_FRAME_STREAM_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "runtime/base/deadline.h"
#include "runtime/base/unique_fd.h"
#include "tools/weftrun/event_loop.h"
#include "tools/weftrun/frame.h"

namespace weft {

class FrameStream {
 public:
  using OnFrame = std::function<void(Frame frame)>;
  // OK: the other side has closed; else what it sent cannot be understood. The last call.
  using OnEnd = std::function<void(const absl::Status& why)>;

  // Makes both descriptors non-blocking.
  FrameStream(UniqueFd in, UniqueFd out);
  // Over one end of a life-line.
  explicit FrameStream(UniqueFd socket);
  ~FrameStream();
  FrameStream(const FrameStream&) = delete;

  // Watches in `loop`, which must outlive this. No handler may destroy this.
  absl::Status Start(EventLoop& loop, OnFrame on_frame, OnEnd on_end);

  // Whether the other side is there, as far as is known.
  bool open() const { return static_cast<bool>(in_); }
  void Send(const Frame& frame);
  size_t pending() const { return outgoing_.size() - written_; }
  // Waits until all is sent, or the other side is gone.
  void Drain(Deadline deadline);

  // Takes in some of what has arrived; false when nothing has, or the other side is gone.
  bool Receive();
  // When something arrived last; at first, when this was made.
  int64_t heard_at() const { return heard_at_; }

  // The other side sees the end; nothing is sent or received any more, and there is no OnEnd.
  void Close();
  // In a forked child: gives the descriptors up, and leaves the loop, which is the parent's, alone.
  void CloseInChild();

 private:
  void Flush();
  void Take();
  void End(const absl::Status& why);

  UniqueFd in_;
  UniqueFd out_;
  EventLoop* loop_ = nullptr;
  OnFrame on_frame_;
  OnEnd on_end_;
  std::string incoming_;
  std::string outgoing_;
  size_t written_ = 0;  // Of `outgoing_`.
  bool waits_for_room_ = false;
  int64_t heard_at_ = MonotonicNanos();
};

// A life-line: the two ends of a connection between a guard and who started it.
// Both are empty when there is no descriptor left.
std::pair<UniqueFd, UniqueFd> MakeLifeline();

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_FRAME_STREAM_H_
