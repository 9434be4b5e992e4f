// What all ranks write to one of their standard streams, brought together by
// whole lines, with the rank in front on request. A line longer than 64 KiB may
// be cut by others' lines. Used by one thread.
#ifndef WEFT_TOOLS_WEFTRUN_RANK_OUTPUT_H_
#define WEFT_TOOLS_WEFTRUN_RANK_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/unique_fd.h"
#include "tools/weftrun/event_loop.h"
#include "tools/weftrun/stream_writer.h"
#include "weft/rank.h"

namespace weft {

class RankOutput {
 public:
  // `pipes`: one a rank, non-blocking. `stream`: where it all goes.
  RankOutput(std::vector<UniqueFd> pipes, bool tag, int stream);

  // Watches the pipes and the stream in `loop`, which must outlive this.
  absl::Status Start(EventLoop& loop);

  // All processes of the job are gone: takes what the pipes still hold, the last
  // lines without an end too. What the stream does not take stays pending.
  void Finish();

  // For weftrun's own lines.
  StreamWriter& writer() { return writer_; }
  // Writes what it can; reads on when there is room again. After each Append.
  void Flush();

 private:
  struct Source {
    UniqueFd pipe;
    std::string partial;  // A line without its end.
    bool at_line_start = true;
  };

  void Read(Rank rank);
  void Take(Rank rank, std::string_view text);
  void Emit(Rank rank, std::string_view line);
  // Reads from the ranks or, while the stream takes too little, does not.
  void Listen(bool listen);

  const bool tag_;
  StreamWriter writer_;
  std::vector<Source> sources_;
  EventLoop* loop_ = nullptr;
  EventLoop group_;  // The pipes.
  bool listening_ = false;
  bool waiting_for_room_ = false;
  bool finished_ = false;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_RANK_OUTPUT_H_
