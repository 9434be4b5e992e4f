// A bootstrap server for tests, without processes: the real servers, the job's and
// its only node's, in a thread of this process, and a socket for each rank. Deaths are reported by
// calls.
#ifndef WEFT_TESTS_RUNTIME_BOOTSTRAP_TEST_SERVER_H_
#define WEFT_TESTS_RUNTIME_BOOTSTRAP_TEST_SERVER_H_

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/authority/job_server.h"
#include "runtime/authority/node_server.h"
#include "runtime/base/unique_fd.h"
#include "tools/weftrun/event_loop.h"
#include "tools/weftrun/rank_link.h"

namespace weft {

class TestServer final : public NodeServer::Outside {
 public:
  explicit TestServer(Rank size);
  ~TestServer() override;

  // The rank's end; once.
  UniqueFd TakeSocket(Rank rank) { return std::move(sockets_[rank]); }

  void Kill(Rank rank, const std::string& how);
  void EndUnjoined(Rank rank);
  // "rank 1: 3: message", in order.
  std::vector<std::string> aborts();

  void Send(Rank to, const WireMessage& message, const NodeFds* fds) override;
  void OnJoined(Rank, pid_t) override {}
  void OnLeft(Rank) override {}
  void OnAbort(Rank rank, int code, std::string_view message) override;
  void OnCondemned(Rank, std::string_view) override {}

 private:
  void Serve();
  void OnLink(Rank rank);

  std::mutex mutex_;  // Guards all below but the thread.
  JobServer job_;
  NodeServer server_;
  std::vector<RankLink> links_;
  std::vector<UniqueFd> sockets_;
  std::vector<std::string> aborts_;
  EventLoop loop_;
  UniqueFd stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weft
#endif  // WEFT_TESTS_RUNTIME_BOOTSTRAP_TEST_SERVER_H_
