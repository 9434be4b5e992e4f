// Collective calls of a job's ranks: each is one barrier, and all ranks check
// that all made the same call with the same arguments. Calls that allocate
// bring a bitmap too (which objects a rank has released, which it still uses),
// from whose AND and OR every rank draws the same conclusion by itself.
//
// Threads: one call at a time; a second caller gets kFailedPrecondition. Calls
// block, at most until their deadline.
#ifndef WEFT_RUNTIME_SYNC_AGREEMENT_H_
#define WEFT_RUNTIME_SYNC_AGREEMENT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/deadline.h"
#include "runtime/sync/collective_call.h"
#include "runtime/sync/rendezvous.h"
#include "weft/rank.h"

namespace weft {

class Agreement {
 public:
  // What a call that allocates came to.
  struct Result {
    CollectiveCall call;
    AgreedBitmaps agreed;
  };

  // `rendezvous`: how this rank, `rank`, meets the others.
  Agreement(std::unique_ptr<Rendezvous> rendezvous, Rank rank);

  // A barrier without arguments. Errors as Rendezvous::Meet; kInvalidArgument
  // on every rank, naming one, when not all called Barrier. A call that ended
  // with kDeadlineExceeded goes on when it is made again; another call in its
  // place is kFailedPrecondition. After kUnavailable every call is kUnavailable.
  absl::Status Barrier(WaitLimit limit);

  // A barrier that compares `call` on all ranks. Errors as above. `bitmap` may be
  // shorter than an AgreementBitmap; the rest counts as 0. When a late call is
  // made again, the bitmap of the first time counts.
  absl::StatusOr<AgreedBitmaps> Agree(const CollectiveCall& call, std::span<const uint64_t> bitmap,
                                      Deadline deadline);

  // --- Going on without members that are lost. No other call is under way then. ---

  // How many calls this rank has completed, and what the last came to, if that allocated.
  uint64_t completed() const { return completed_; }
  const std::optional<Result>& last() const { return last_; }

  // Waits until nothing of this rank's is under way to another.
  absl::Status Settle(Deadline deadline) { return rendezvous_->Settle(deadline); }

  // Meets by `rendezvous` from now on, and forgets the call that this rank was in. `completed`:
  // that of the member that has come furthest, one call more than this rank at most.
  void GoOn(std::unique_ptr<Rendezvous> rendezvous, uint64_t completed);

 private:
  absl::Status Run(const CollectiveCall& call, const AgreementBitmap* bitmap, WaitLimit limit,
                   AgreedBitmaps* agreed);

  std::unique_ptr<Rendezvous> rendezvous_;
  const Rank rank_;
  std::atomic<bool> busy_ = false;
  CollectiveCall pending_;  // The call that this rank has arrived with.
  absl::Status lost_;       // Why no call can complete any more.
  uint64_t completed_ = 0;
  std::optional<Result> last_;
};

// The end of a call that creates: nobody may use the new object at a peer before
// that peer has prepared its own part. Remembers the object of a call that was
// late here, so that the call goes on when it is made again.
class ReadyMeeting {
 public:
  explicit ReadyMeeting(Agreement& agreement) : agreement_(agreement) {}

  // The object that is prepared here and still waits for the others.
  std::optional<uint32_t> unfinished() const;

  // Waits until all have prepared object `id`. Errors as Agreement::Agree; the object
  // stays unfinished only where making the call again can complete it.
  absl::Status Meet(const CollectiveCall& call, uint32_t id, Deadline deadline);

  // The call will not be made again: returns its object.
  std::optional<uint32_t> Drop();

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  Agreement& agreement_;
  std::atomic<uint32_t> unfinished_ = kNone;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_SYNC_AGREEMENT_H_
