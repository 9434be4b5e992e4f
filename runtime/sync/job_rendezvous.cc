#include "runtime/sync/job_rendezvous.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/base/wait_failure.h"

namespace weft {
namespace {

// 5 us: as long as a message takes at best.
constexpr int kSpins = 200;
// For an answer of a rank that works; over the deadline of the call by so much at most.
constexpr absl::Duration kPatience = absl::Milliseconds(100);
// Who has left and does not answer for so long is lost.
constexpr absl::Duration kPatienceWithOneThatLeft = absl::Seconds(3);

// A published state: the generation, and the round whose message is waited for.
constexpr uint32_t kStepBits = 8;
constexpr uint64_t kOver = (1 << kStepBits) - 1;  // This generation is completed.
static_assert(kMaxRounds < kOver);
// Of a generation within its epoch.
constexpr uint32_t kGenerationBits = 36;
constexpr uint64_t StateAt(uint64_t generation, uint64_t step) {
  return generation << kStepBits | step;
}

// A message's word: the generation, and whether a summary is beside it.
constexpr uint64_t WordOf(uint64_t generation, bool plain) { return generation << 1 | !plain; }

static_assert(sizeof(CallSummary) == sizeof(RoundSlot::summary));
// So that what is sent may change as soon as it is posted.
static_assert(sizeof(CallSummary) <= kMaxStagedBytes);

std::vector<Rank> AllRanks(Rank size) {
  std::vector<Rank> all(size);
  std::iota(all.begin(), all.end(), Rank{0});
  return all;
}

}  // namespace

JobRendezvous::JobRendezvous(const NodeView& node, Engine& engine, Progress progress)
    : JobRendezvous(node, engine, std::move(progress), AllRanks(node.size), 0) {}

JobRendezvous::JobRendezvous(const NodeView& node, Engine& engine, Progress progress,
                             std::vector<Rank> members, uint32_t epoch)
    : node_(node),
      engine_(engine),
      progress_(std::move(progress)),
      members_(std::move(members)),
      rounds_(static_cast<uint32_t>(std::bit_width(members_.size() - 1))),
      spins_(Oversubscribed(node.RanksHere()) ? 0 : kSpins),
      generation_((uint64_t{epoch} << kGenerationBits) + 1) {}

absl::Status JobRendezvous::Meet(const CollectiveCall& call, const AgreementBitmap* bitmap,
                                 WaitLimit limit, AgreedBitmaps* agreed) {
  const Deadline deadline = limit.Start();
  if (!arrived_) Arrive(call, bitmap);
  while (round_ < rounds_) {
    if (sent_ == round_) {
      if (absl::Status sent = Send(deadline); !sent.ok()) return sent;
    }
    if (absl::Status came = AwaitMessage(deadline); !came.ok()) return came;
    TakeMessage();
    Publish(++round_);
  }
  if (absl::Status landed = AwaitLanding(deadline); !landed.ok()) return landed;
  Publish(kOver);
  arrived_ = false;
  ++generation_;
  if (plain_) [[likely]]
    return absl::OkStatus();
  if (absl::Status verdict = known_.Verdict(); !verdict.ok()) return verdict;
  if (bitmap != nullptr) *agreed = known_.bitmaps;
  return absl::OkStatus();
}

void JobRendezvous::Arrive(const CollectiveCall& call, const AgreementBitmap* bitmap) {
  arrived_ = true;
  round_ = sent_ = 0;
  plain_ = bitmap == nullptr;
  if (!plain_) known_ = CallSummary::Of(node_.rank, call, *bitmap);
  done_.clear();
  Publish(0);
}

void JobRendezvous::Publish(uint64_t step) {
  node_.control(node_.rank)
      .rendezvous.state.store(StateAt(generation_, step), std::memory_order_release);
}

size_t JobRendezvous::IndexOf(Rank member) const {
  return static_cast<size_t>(std::ranges::lower_bound(members_, member) - members_.begin());
}

Rank JobRendezvous::Receiver(Rank sender, uint32_t round) const {
  return members_[(IndexOf(sender) + (size_t{1} << round)) % members_.size()];
}

Rank JobRendezvous::Sender(Rank receiver, uint32_t round) const {
  return members_[(IndexOf(receiver) + members_.size() - (size_t{1} << round)) % members_.size()];
}

Rank JobRendezvous::LowestKnown(Rank rank, uint32_t round) const {
  const size_t index = IndexOf(rank);
  const size_t others = (size_t{1} << round) - 1;  // Below `rank`, modulo the number of members.
  return members_[index < others ? 0 : index - others];
}

absl::Status JobRendezvous::Send(Deadline deadline) {
  const Rank to = Receiver(node_.rank, round_);
  const uint64_t slot = offsetof(ControlRegion, rendezvous) + offsetof(RendezvousLines, rounds) +
                        (generation_ % 2 * kMaxRounds + round_) * sizeof(RoundSlot);
  Engine::Request request = {.ride = Ride::kSetSignal,
                             .segment = Segment::Kind::kControl,
                             .peer = to,
                             .offset = slot + offsetof(RoundSlot, summary),
                             .operand = WordOf(generation_, plain_),
                             .compare = slot + offsetof(RoundSlot, word)};
  if (!plain_) {
    request.source = &known_;
    request.length = sizeof(known_);
  }
  auto handle = engine_.Start(request, deadline);
  if (handle.ok()) {
    under_way_.push_back({to, *handle});
  } else if (absl::IsUnavailable(handle.status())) {
    // That matters only if something is still to come: who is gone may have been the last
    // to need to know.
    failed_ = handle.status();
  } else {
    return absl::Status(
        handle.status().code(),
        absl::StrCat("barrier ", generation_, ": cannot tell rank ", to, " that rank ", node_.rank,
                     " has arrived: ", handle.status().message()));
  }
  ++sent_;
  return absl::OkStatus();
}

bool JobRendezvous::HasMessage() const {
  return slot().word.load(std::memory_order_acquire) >> 1 == generation_;
}

absl::Status JobRendezvous::AwaitMessage(Deadline deadline) {
  if (HasMessage()) return absl::OkStatus();
  for (int i = 0; i < spins_; ++i) {
    CpuPause();
    if (HasMessage()) return absl::OkStatus();
  }
  const Membership& membership = *node_.membership;
  const Waiter::Options options = {.max_sleep_ns = progress_.every_ns, .progress = &progress_.step};
  uint32_t seen_changes = 0;
  for (;;) {
    switch (waiter_.Wait([this] { return HasMessage() || HasFailed(); },
                         node_.control(node_.rank).doorbell, membership, seen_changes, deadline,
                         options)) {
      case Waiter::Outcome::kReady:
        return HasMessage() ? absl::OkStatus() : FailedError();
      case Waiter::Outcome::kDeadline:
        return LateError();
      case Waiter::Outcome::kMembershipChanged:
        break;
    }
    seen_changes = membership.changes.load(std::memory_order_acquire);
    const std::optional<Rank> missed = FirstMissed();
    if (missed && !HasMessage()) return LostError(*missed);
  }
}

void JobRendezvous::TakeMessage() {
  const RoundSlot& message = slot();
  const bool theirs_plain = (message.word.load(std::memory_order_acquire) & 1) == 0;
  if (plain_ && theirs_plain) [[likely]]
    return;
  const auto plain_from = [](Rank lowest) { return CallSummary::Of(lowest, {}, {}); };
  if (plain_) known_ = plain_from(LowestKnown(node_.rank, round_));
  plain_ = false;
  if (theirs_plain) {
    known_.Add(plain_from(LowestKnown(Sender(node_.rank, round_), round_)));
  } else {
    CallSummary theirs;
    std::memcpy(static_cast<void*>(&theirs), message.summary, sizeof(theirs));
    known_.Add(theirs);
  }
}

absl::Status JobRendezvous::AwaitLanding(Deadline deadline) {
  // A message to a rank that is gone ends, too. That this one has not the others' need to
  // know of: all have arrived.
  const auto landed = [this] {
    (void)HasFailed();
    return under_way_.empty();
  };
  const Membership& membership = *node_.membership;
  const Waiter::Options options = {
      .spins = spins_, .max_sleep_ns = progress_.every_ns, .progress = &progress_.step};
  for (;;) {
    const uint32_t seen_changes = membership.changes.load(std::memory_order_acquire);
    switch (waiter_.Wait(landed, node_.control(node_.rank).doorbell, membership, seen_changes,
                         deadline, options)) {
      case Waiter::Outcome::kReady:
        return absl::OkStatus();
      case Waiter::Outcome::kDeadline:
        return LandingLateError();
      case Waiter::Outcome::kMembershipChanged:
        break;
    }
  }
}

bool JobRendezvous::HasFailed() {
  std::erase_if(under_way_, [this](const Sent& sent) {
    if (!engine_.Done(sent.handle)) return false;
    failed_.Update(engine_.Finish(sent.handle, Deadline()));
    return true;
  });
  return !failed_.ok();
}

std::optional<Rank> JobRendezvous::FirstMissed() {
  const Membership& membership = *node_.membership;
  for (;;) {
    std::optional<Rank> first;
    uint32_t first_at = UINT32_MAX;
    for (const Rank r : members_) {
      if (membership.state[r].load(std::memory_order_acquire) == MemberState::kAlive) continue;
      const uint32_t at = membership.lost_at[r].load(std::memory_order_relaxed);
      if (at >= first_at || done_.contains(r)) continue;
      first = r;
      first_at = at;
    }
    if (!first || membership.state[*first].load(std::memory_order_acquire) != MemberState::kLeft) {
      return first;
    }
    // Others may complete a meeting, and leave, while this rank's messages are on their way.
    const std::optional<uint64_t> state =
        StateOf(*first, Deadline::After(kPatienceWithOneThatLeft));
    if (!state || *state < StateAt(generation_, kOver)) return first;
    done_.insert(*first);
  }
}

std::optional<uint64_t> JobRendezvous::StateOf(Rank rank, Deadline deadline) {
  uint64_t state = 0;
  const absl::Status got =
      engine_.Run({.kind = Op::Kind::kGet,
                   .segment = Segment::Kind::kControl,
                   .peer = rank,
                   .offset = offsetof(ControlRegion, rendezvous) + offsetof(RendezvousLines, state),
                   .destination = &state,
                   .length = sizeof(state)},
                  deadline);
  return got.ok() ? std::optional(state) : std::nullopt;
}

absl::Status JobRendezvous::LostError(Rank lost) const {
  return LostRankError(*node_.membership, lost,
                       absl::StrCat("barrier ", generation_, " cannot complete"));
}

absl::Status JobRendezvous::FailedError() {
  // The membership knows more of a rank's end than the transport does.
  if (const std::optional<Rank> missed = FirstMissed()) return LostError(*missed);
  return absl::Status(failed_.code(), absl::StrCat("barrier ", generation_,
                                                   " cannot complete: ", failed_.message()));
}

// Follows who waits for whom: each waits in an earlier round than the one before.
absl::Status JobRendezvous::LateError() {
  const Deadline patience = Deadline::After(kPatience);
  Rank rank = Sender(node_.rank, round_);
  uint64_t round = round_;
  std::string who = "all ranks seem to have arrived by now";
  for (;;) {
    const std::optional<uint64_t> state = StateOf(rank, patience);
    if (!state) {
      who = absl::StrCat("it waits for rank ", rank, ", which does not answer");
      break;
    }
    if (*state < StateAt(generation_, 0)) {
      who = absl::StrCat("of ", members_.size(), " ranks at least one has not arrived: ", rank);
      break;
    }
    const uint64_t theirs = *state & kOver;
    if (theirs >= round) break;  // Its message is on its way.
    round = theirs;
    rank = Sender(rank, static_cast<uint32_t>(theirs));
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "barrier ", generation_, ": ", who, "; call it again to go on waiting for the same one"));
}

absl::Status JobRendezvous::LandingLateError() const {
  return absl::DeadlineExceededError(
      absl::StrCat("barrier ", generation_, ": all ranks have arrived, but rank ",
                   under_way_.front().to, " has not been told that rank ", node_.rank,
                   " has; call it again to go on waiting for the same one"));
}

}  // namespace weft
