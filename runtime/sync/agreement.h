// Collective calls of a node's ranks: each is one barrier, and all ranks check
// that all made the same call with the same arguments. Calls that allocate
// bring a bitmap too (which objects a rank has released, which it still uses),
// from whose AND and OR every rank draws the same conclusion by itself.
//
// Threads: one call at a time; a second caller gets kFailedPrecondition. Calls
// block, at most until their deadline. The NodeView must outlive the object.
#ifndef WEFT_RUNTIME_SYNC_AGREEMENT_H_
#define WEFT_RUNTIME_SYNC_AGREEMENT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/deadline.h"
#include "runtime/base/node_view.h"
#include "runtime/sync/node_barrier.h"
#include "runtime/sync/progress.h"

namespace weft {

// The values are shared between processes.
enum class CollectiveKind : uint64_t {
  kBarrier = 1,
  kCreateSymmetric = 2,
  kCreateCounter = 3,
};

struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kBarrier;
  std::array<uint64_t, 2> arguments = {};
  friend bool operator==(const CollectiveCall&, const CollectiveCall&) = default;
};

// As its caller would spell it: "Symmetric::Create(800, 8)".
std::string DescribeCall(const CollectiveCall& call);

using AgreementBitmap = std::array<uint64_t, kMaxSymmetricObjects / 64>;

class Agreement {
 public:
  // The bitmaps of all ranks, combined.
  struct Result {
    AgreementBitmap all;  // AND
    AgreementBitmap any;  // OR
  };

  Agreement(const NodeView& node, Progress progress, uint32_t configured_cpus = ConfiguredCpus());

  // A barrier without arguments. Errors as NodeBarrier::Enter; kInvalidArgument
  // on every rank, naming one, when not all called Barrier. A call that ended
  // with kDeadlineExceeded goes on when it is made again; another call in its
  // place is kFailedPrecondition. After kUnavailable every call is kUnavailable.
  absl::Status Barrier(WaitLimit limit);

  // A barrier that compares `call` on all ranks. Errors as above. `bitmap` may be
  // shorter than an AgreementBitmap; the rest counts as 0. When a late call is
  // made again, the bitmap of the first time counts.
  absl::StatusOr<Result> Agree(const CollectiveCall& call, std::span<const uint64_t> bitmap,
                               Deadline deadline);

 private:
  absl::Status Run(const CollectiveCall& call, std::span<const uint64_t> bitmap, bool check,
                   WaitLimit limit, Result* result);
  absl::Status Compare(size_t slot, uint64_t generation) const;
  Result Combine(size_t slot) const;

  const NodeView node_;
  NodeBarrier barrier_;
  std::atomic<bool> busy_ = false;
  CollectiveCall pending_;  // The call that this rank has arrived with.
  absl::Status lost_;       // Why no call can complete any more.
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

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  Agreement& agreement_;
  std::atomic<uint32_t> unfinished_ = kNone;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_SYNC_AGREEMENT_H_
