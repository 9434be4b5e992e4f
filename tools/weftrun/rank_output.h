// One of weftrun's standard streams, to which what all ranks write comes by whole
// lines, with the rank in front on request. Used by one thread.
#ifndef WEFT_TOOLS_WEFTRUN_RANK_OUTPUT_H_
#define WEFT_TOOLS_WEFTRUN_RANK_OUTPUT_H_

#include <functional>
#include <string_view>
#include <unordered_set>

#include "tools/weftrun/event_loop.h"
#include "tools/weftrun/stream_writer.h"
#include "weft/rank.h"

namespace weft {

class RankOutput {
 public:
  // `stream`: where it all goes, watched in `loop`, which must outlive this. `listen` is told
  // when the ranks have to wait for room, and when they need not any more.
  RankOutput(bool tag, int stream, EventLoop& loop, std::function<void(bool listen)> listen);

  // Of `rank`: whole lines, mostly.
  void Deliver(Rank rank, std::string_view text);
  // Whether the ranks have to wait.
  bool full() const { return full_; }

  // For weftrun's own lines.
  StreamWriter& writer() { return writer_; }
  // Writes what it can. After each Append.
  void Flush();

 private:
  const bool tag_;
  StreamWriter writer_;
  EventLoop& loop_;
  const std::function<void(bool)> listen_;
  std::unordered_set<Rank> within_line_;  // Whose last text had no end of line.
  bool waiting_for_room_ = false;
  bool full_ = false;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_RANK_OUTPUT_H_
