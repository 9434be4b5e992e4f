// How the ranks of a job meet in a collective call: a barrier that at the same
// time compares what they called, and combines what they brought. One interface,
// for ranks that share memory (node_rendezvous.h) and those that do not
// (job_rendezvous.h).
//
// Threads: one call at a time; runtime/sync/agreement.h guards that.
#ifndef WEFT_RUNTIME_SYNC_RENDEZVOUS_H_
#define WEFT_RUNTIME_SYNC_RENDEZVOUS_H_

#include "absl/status/status.h"
#include "runtime/base/deadline.h"
#include "runtime/sync/collective_call.h"

namespace weft {

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;

  // Whether this rank has arrived in a meeting that it has not completed, since a
  // Meet ended with an error.
  virtual bool arrived() const = 0;

  // Arrives with `call`, unless this rank already has, and waits for all. `bitmap`:
  // what a call that allocates brings; its combination goes to `agreed`. Null: a
  // plain barrier, which every one of its kind agrees with.
  //
  // kInvalidArgument on every rank, naming one: their calls were not the same; the
  // meeting is over all the same. kUnavailable: a member that is dead, lost, or has
  // left, named. kDeadlineExceeded: names who is missing, as far as that is known.
  // After these two this rank has arrived, and the next Meet goes on with the same
  // meeting, whatever it is given.
  virtual absl::Status Meet(const CollectiveCall& call, const AgreementBitmap* bitmap,
                            WaitLimit limit, AgreedBitmaps* agreed) = 0;

  // Waits until nothing of this rank's is under way to another any more. Once all have, none
  // of what they meet by is touched before somebody meets again. kDeadlineExceeded.
  virtual absl::Status Settle(Deadline deadline) = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_SYNC_RENDEZVOUS_H_
