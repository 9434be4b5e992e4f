// Future<T>: an Async operation under way.
//
// Owned by one thread at a time. What an operation reads or writes of the
// caller's memory stays the caller's promise until the Future has been waited
// for or dropped. A dropped Future waits, at most the default deadline.
#ifndef WEFT_FUTURE_H_
#define WEFT_FUTURE_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "weft/internal/reach.h"

namespace weft {

// T: what Wait yields besides the status; void for puts and for gets into the
// caller's memory.
template <typename T = void>
class [[nodiscard]] Future;

template <>
class [[nodiscard]] Future<void> {
 public:
  // Over already.
  explicit Future(absl::Status status) : status_(std::move(status)) {}
  explicit Future(absl::StatusOr<internal::Pending> pending) : status_(pending.status()) {
    if (pending.ok()) pending_ = *std::move(pending);
  }

  // Whether Wait would return at once. Never blocks.
  bool Ready() const { return !pending_.active() || pending_.Ready(); }

  // Blocks until the operation is complete, at most the operations' deadline
  // (World::Options::deadline) from now. kDeadlineExceeded: it is over, its
  // buffers are not touched any more, and whether it took place is in doubt.
  // Once over, every Wait returns the same.
  absl::Status Wait() { return Finish(0); }
  absl::Status WaitUntil(absl::Time deadline) {
    return Finish(internal::MonotonicNanosAt(deadline));
  }

 private:
  absl::Status Finish(int64_t deadline_nanos) {
    if (pending_.active()) {
      status_ = pending_.Finish(deadline_nanos);
      pending_ = {};
    }
    return status_;
  }

  absl::Status status_;
  internal::Pending pending_;
};

template <typename T>
class [[nodiscard]] Future {
 public:
  explicit Future(absl::StatusOr<T> result) : result_(std::move(result)) {}
  // `landing` is where the operation will leave its result.
  Future(std::unique_ptr<internal::Uninitialized<T>> landing,
         absl::StatusOr<internal::Pending> pending)
      : result_(absl::UnknownError("under way")), landing_(std::move(landing)) {
    if (pending.ok()) {
      pending_ = *std::move(pending);
    } else {
      result_ = pending.status();
    }
  }

  // As of Future<void>.
  bool Ready() const { return !pending_.active() || pending_.Ready(); }
  absl::StatusOr<T> Wait() { return Finish(0); }
  absl::StatusOr<T> WaitUntil(absl::Time deadline) {
    return Finish(internal::MonotonicNanosAt(deadline));
  }

 private:
  absl::StatusOr<T> Finish(int64_t deadline_nanos) {
    if (pending_.active()) {
      absl::Status status = pending_.Finish(deadline_nanos);
      pending_ = {};
      if (status.ok()) {
        result_ = landing_->value;
      } else {
        result_ = std::move(status);
      }
    }
    return result_;
  }

  absl::StatusOr<T> result_;
  // Declared before pending_, whose destruction ends what may still write to it.
  std::unique_ptr<internal::Uninitialized<T>> landing_;
  internal::Pending pending_;
};

}  // namespace weft
#endif  // WEFT_FUTURE_H_
