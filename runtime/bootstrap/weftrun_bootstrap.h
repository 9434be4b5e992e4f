// The bootstrap of a rank that weftrun started: a client of weftrun's guard
// over the socket that the rank inherited. The guard answers every request; a
// rank has one request under way at a time, and a collective one that its
// deadline cut short is taken up again when it is called again.
//
// Threads: any thread may call. Requests are served one after the other; Abort
// and NextDeath never wait for one under way. A forked child gets
// kFailedPrecondition.
#ifndef WEFT_RUNTIME_BOOTSTRAP_WEFTRUN_BOOTSTRAP_H_
#define WEFT_RUNTIME_BOOTSTRAP_WEFTRUN_BOOTSTRAP_H_

#include <sys/types.h>

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/unique_fd.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/bootstrap/channel.h"
#include "runtime/bootstrap/wire.h"

namespace weft {

class WeftrunBootstrap final : public Bootstrap {
 public:
  // `place` is the value of WEFT_BOOTSTRAP, "fd=N,ino=M". Marks the socket
  // close-on-exec, owns it from then on, and joins.
  static absl::StatusOr<std::unique_ptr<Bootstrap>> Connect(std::string_view place);

  // Joins over `socket`.
  static absl::StatusOr<std::unique_ptr<Bootstrap>> ConnectTo(UniqueFd socket);

  Rank rank() const override { return rank_; }
  Rank size() const override { return size_; }
  std::string_view source() const override { return "weftrun"; }
  const JobSecret& secret() const override { return secret_; }

  absl::StatusOr<std::optional<NodeFds>> ShareMemory(const MemoryShape& shape,
                                                     Deadline deadline) override;
  absl::Status Put(std::string_view key, std::string_view value) override;
  absl::StatusOr<std::string> Get(std::string_view key, Deadline deadline) override;
  absl::Status Fence(Deadline deadline) override;
  absl::Status Leave() override;
  void Abort(int code, std::string_view message) override;
  void Acknowledge(uint32_t proposal) override;
  void Accuse(Rank rank, std::string_view why) override;
  absl::StatusOr<Survivors> Continue(uint32_t epoch, uint64_t completed, std::string_view result,
                                     Deadline deadline) override;
  std::optional<Rank> NextDeath() override;

 private:
  struct Answer {
    WireMessage message;
    std::vector<UniqueFd> fds;
  };
  // A collective request whose caller's deadline has passed.
  struct Suspended {
    uint32_t id;
    WireMessage::Type type;
    std::optional<Answer> answer;  // Once it has come, during some other request.
  };

  explicit WeftrunBootstrap(UniqueFd socket);

  // Sends `request`, or takes up the suspended one, and waits for its answer;
  // an answer that is an error becomes the error.
  absl::StatusOr<Answer> Call(WireMessage request, Deadline deadline);
  absl::StatusOr<Answer> Exchange(WireMessage request, Deadline deadline);
  absl::StatusOr<Answer> AwaitAnswer(uint32_t id, Deadline deadline);
  // Who keeps the suspended request from being answered.
  std::string WhoIsMissing();
  absl::Status CheckProcess() const;
  // Sends what is not answered; a guard that takes it no more is ending the job, or takes this
  // rank for lost.
  void Tell(const WireMessage& message);
  void AddDeath(uint64_t rank);
  // Makes this thread the one whose request is under way, until EndCall. False
  // when another's still is at the deadline.
  bool BeginCall(Deadline deadline);
  void EndCall();

  const UniqueFd socket_;
  const pid_t process_;
  Rank rank_ = 0;
  Rank size_ = 0;
  JobSecret secret_ = {};

  // Not a std::timed_mutex: ThreadSanitizer does not see a wait by the monotonic clock.
  absl::Mutex calls_mutex_;
  bool calling_ ABSL_GUARDED_BY(calls_mutex_) = false;
  // Of the call under way.
  uint32_t last_id_ = 0;
  std::optional<Suspended> suspended_;

  std::mutex deaths_mutex_;
  std::deque<Rank> deaths_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_BOOTSTRAP_WEFTRUN_BOOTSTRAP_H_
