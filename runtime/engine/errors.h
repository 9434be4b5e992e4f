// The errors of posted operations, kept until a Flush reports them. They are
// numbered for each peer, and each thread is told of those that it has not seen
// yet, so that no thread loses an error because another one flushed first.
//
// What a thread has seen is kept with the thread and goes with it. Not
// thread-safe: guarded by the Engine's lock.
#ifndef WEFT_RUNTIME_ENGINE_ERRORS_H_
#define WEFT_RUNTIME_ENGINE_ERRORS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "weft/rank.h"

namespace weft {

class ErrorLog {
 public:
  // How many errors a peer are kept; of older ones, the number.
  static constexpr size_t kKept = 16;

  void Record(Rank peer, absl::Status status);

  // The earliest error of `peer` that the calling thread has not seen and that
  // is still kept; it says how many more there are. OK if there is none. The
  // thread has then seen them all.
  absl::Status Unseen(Rank peer);

  // The peers for which there ever was an error, in ascending order.
  std::vector<Rank> peers() const;

 private:
  struct PeerErrors {
    uint64_t count = 0;             // Ever.
    std::deque<absl::Status> kept;  // The last ones; kept.back() is number `count`.
  };
  // Stands for this log in the threads' notes, which outlive it.
  struct Identity {};

  uint64_t& SeenByThisThread(Rank peer);

  const std::shared_ptr<Identity> identity_ = std::make_shared<Identity>();
  std::map<Rank, PeerErrors> peers_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_ENGINE_ERRORS_H_
