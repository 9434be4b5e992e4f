#include "runtime/sync/agreement.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

class BusyGuard {
 public:
  explicit BusyGuard(std::atomic<bool>& busy)
      : busy_(busy), owned_(!busy.exchange(true, std::memory_order_acquire)) {}
  BusyGuard(const BusyGuard&) = delete;
  BusyGuard& operator=(const BusyGuard&) = delete;
  ~BusyGuard() {
    if (owned_) busy_.store(false, std::memory_order_release);
  }
  bool owned() const { return owned_; }

 private:
  std::atomic<bool>& busy_;
  const bool owned_;
};

}  // namespace

Agreement::Agreement(std::unique_ptr<Rendezvous> rendezvous, Rank rank)
    : rendezvous_(std::move(rendezvous)), rank_(rank) {}

absl::Status Agreement::Barrier(WaitLimit limit) { return Run({}, nullptr, limit, nullptr); }

absl::StatusOr<AgreedBitmaps> Agreement::Agree(const CollectiveCall& call,
                                               std::span<const uint64_t> bitmap,
                                               Deadline deadline) {
  AgreementBitmap whole = {};
  std::copy_n(bitmap.begin(), std::min(bitmap.size(), whole.size()), whole.begin());
  AgreedBitmaps agreed;
  absl::Status status = Run(call, &whole, deadline, &agreed);
  if (!status.ok()) return status;
  return agreed;
}

absl::Status Agreement::Run(const CollectiveCall& call, const AgreementBitmap* bitmap,
                            WaitLimit limit, AgreedBitmaps* agreed) {
  const BusyGuard guard(busy_);
  if (!guard.owned()) {
    return absl::FailedPreconditionError(
        absl::StrCat(DescribeCall(call), ": another thread of rank ", rank_,
                     " is in a collective call; make them one after the other"));
  }
  if (!lost_.ok()) return lost_;
  if (!rendezvous_->arrived()) {
    pending_ = call;
  } else if (pending_ != call) {
    return absl::FailedPreconditionError(absl::StrCat(
        DescribeCall(call), ": rank ", rank_, " has not completed its earlier ",
        DescribeCall(pending_), ", which ended with an error; make that call again first"));
  }
  absl::Status met = rendezvous_->Meet(call, bitmap, limit, agreed);
  if (absl::IsUnavailable(met)) lost_ = met;
  if (!rendezvous_->arrived()) {
    ++completed_;
    last_.reset();
    if (met.ok() && bitmap != nullptr) last_ = Result{call, *agreed};
  }
  return met;
}

void Agreement::GoOn(std::unique_ptr<Rendezvous> rendezvous, uint64_t completed) {
  rendezvous_ = std::move(rendezvous);
  completed_ = completed;
  lost_ = absl::OkStatus();
}

std::optional<uint32_t> ReadyMeeting::unfinished() const {
  const uint32_t id = unfinished_.load(std::memory_order_acquire);
  return id == kNone ? std::nullopt : std::optional(id);
}

std::optional<uint32_t> ReadyMeeting::Drop() {
  const std::optional<uint32_t> dropped = unfinished();
  unfinished_.store(kNone, std::memory_order_release);
  return dropped;
}

absl::Status ReadyMeeting::Meet(const CollectiveCall& call, uint32_t id, Deadline deadline) {
  unfinished_.store(id, std::memory_order_release);
  absl::Status met = agreement_.Agree(call, {}, deadline).status();
  if (!absl::IsDeadlineExceeded(met) && !absl::IsFailedPrecondition(met)) {
    unfinished_.store(kNone, std::memory_order_release);
  }
  return met;
}

}  // namespace weft
