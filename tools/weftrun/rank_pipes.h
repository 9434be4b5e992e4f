// The pipes that the ranks of one host write a standard stream to: reads them
// all, and hands on whole lines. A line longer than 64 KiB comes in pieces. Used
// by one thread.
#ifndef WEFT_TOOLS_WEFTRUN_RANK_PIPES_H_
#define WEFT_TOOLS_WEFTRUN_RANK_PIPES_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/unique_fd.h"
#include "tools/weftrun/event_loop.h"
#include "weft/rank.h"

namespace weft {

class RankPipes {
 public:
  using Sink = std::function<void(Rank rank, std::string_view text)>;

  // `pipes`: non-blocking, one for each of `ranks`. `whole_lines`: for one rank alone there is
  // no need for it, and a prompt shows at once without.
  RankPipes(std::vector<Rank> ranks, std::vector<UniqueFd> pipes, bool whole_lines, Sink sink);

  // Watches the pipes in `loop`, which must outlive this.
  absl::Status Start(EventLoop& loop);
  // Reads from the ranks or, while what is read goes nowhere, does not.
  void Listen(bool listen);
  // All processes of the job are gone: takes what the pipes still hold, the last
  // lines without an end too.
  void Finish();

 private:
  struct Source {
    Rank rank;
    UniqueFd pipe;
    std::string partial;  // A line without its end.
  };

  // False when there is nothing more to read, now or for ever.
  bool Read(Source& source);
  void Take(Source& source, std::string_view text);
  void HandOnPartial(Source& source);

  const bool whole_lines_;
  const Sink sink_;
  std::vector<Source> sources_;
  EventLoop* loop_ = nullptr;
  EventLoop group_;  // The pipes.
  bool listening_ = false;
  bool finished_ = false;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_RANK_PIPES_H_
