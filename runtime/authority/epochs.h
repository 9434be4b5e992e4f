// The versions of a job's membership, where survivors of a failure go on. After each
// death the dead are proposed anew; whoever is alive gives them up and acknowledges.
// When all have, that is an epoch: the dead can write nothing any more, and every
// survivor sees the same ones. Who does not acknowledge in time is to be killed.
//
// Pure logic on times that the caller passes in; not thread-safe.
#ifndef WEFT_RUNTIME_AUTHORITY_EPOCHS_H_
#define WEFT_RUNTIME_AUTHORITY_EPOCHS_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "runtime/base/deadline.h"
#include "weft/rank.h"

namespace weft {

class Epochs {
 public:
  // As long as a host that is not heard of is waited for.
  static constexpr absl::Duration kPatience = absl::Seconds(3);

  // The dead are others now; `alive` has to acknowledge. Returns the proposal's number.
  uint32_t Propose(const std::vector<Rank>& alive, int64_t now);
  // True: that was the last one, and the proposal is the epoch now.
  bool Acknowledge(Rank rank, uint32_t proposal);
  // It has left, and need not acknowledge. As above.
  bool Excuse(Rank rank);

  uint32_t epoch() const { return epoch_; }
  bool pending() const { return proposal_ != epoch_; }

  // Those that have not acknowledged in time; each once.
  std::vector<Rank> Late(int64_t now);
  Deadline next() const { return late_at_; }

 private:
  bool Remove(Rank rank);

  uint32_t proposal_ = 0;
  uint32_t epoch_ = 0;
  std::set<Rank> due_;
  Deadline late_at_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_AUTHORITY_EPOCHS_H_
