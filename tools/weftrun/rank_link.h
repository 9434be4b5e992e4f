// The guard's end of one rank's bootstrap socket: receives its datagrams, and
// keeps what the rank does not take at once, so that a stopped rank holds up
// nobody. Used by one thread.
#ifndef WEFT_TOOLS_WEFTRUN_RANK_LINK_H_
#define WEFT_TOOLS_WEFTRUN_RANK_LINK_H_

#include <sys/types.h>

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/node_fds.h"
#include "runtime/base/unique_fd.h"

namespace weft {

class RankLink {
 public:
  RankLink() = default;
  // `socket`: the guard's end, with SO_PASSCRED set.
  explicit RankLink(UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  // Whether something waits for room: watch for EPOLLOUT and Flush then, and do
  // not Receive, so that a rank that asks without listening is not served.
  bool blocked() const { return !outgoing_.empty(); }

  void Send(std::string datagram, const NodeFds* fds);
  void Flush();

  // Hands over the datagrams that have arrived, up to `limit` of them, so that
  // one rank does not keep the others waiting. False when no process has the
  // other end any more.
  bool Receive(int limit,
               const std::function<void(pid_t sender, std::string_view datagram)>& handle);

 private:
  struct Outgoing {
    std::string datagram;
    NodeFds fds;  // Duplicates; empty: none.
  };
  // False: no room now.
  bool Transmit(const std::string& datagram, const NodeFds* fds);

  UniqueFd socket_;
  std::deque<Outgoing> outgoing_;
};

// The guard's and the rank's end; both empty when there is no descriptor left.
std::pair<UniqueFd, UniqueFd> MakeRankSocket();

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_RANK_LINK_H_
