// The rendezvous of ranks on several nodes, that share no memory: dissemination.
//
// Of n members, number i tells number i + 2^k in round k what it knows, and waits for what
// number i - 2^k knows. Before round k a member knows of itself and the 2^k - 1 members
// below it (all modulo n), after ceil(log2 n) rounds of all: that they have arrived,
// and what they called. While all that is known of are plain barriers, a message is
// one word, whose signal rings the receiver's doorbell; a CallSummary goes with it
// otherwise, and so everybody ends with the same.
//
// Messages land in the receiver's control region, in a slot for each round and parity
// of the generation. None is overwritten before it was read. Of a pair of ranks, i
// writes slot k of generation g + 2 at j only after it has completed g + 1. Then all
// ranks had arrived in g + 1, j too; so j had completed g, and read slot k of g. What i
// writes for g + 1 goes to the other parity. And since j has seen the word of g, whose
// put landed before it, nothing of g is still on its way to be written over g + 2.
//
// Only Engine operations are used, so that one implementation serves all transports.
// A meeting is over when this rank's own messages have landed, so that no other waits
// for a rank that computes.
//
// Threads: as rendezvous.h says; whoever waits progresses. The NodeView and the Engine
// must outlive the object, whose outstanding messages end with the Engine.
#ifndef WEFT_RUNTIME_SYNC_JOB_RENDEZVOUS_H_
#define WEFT_RUNTIME_SYNC_JOB_RENDEZVOUS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/deadline.h"
#include "runtime/base/node_view.h"
#include "runtime/base/waiter.h"
#include "runtime/engine/engine.h"
#include "runtime/sync/call_summary.h"
#include "runtime/sync/progress.h"
#include "runtime/sync/rendezvous.h"

namespace weft {

class JobRendezvous final : public Rendezvous {
 public:
  // Of all ranks.
  JobRendezvous(const NodeView& node, Engine& engine, Progress progress);
  // Of `members`, ascending, this rank among them, that have given up whom they met before: all
  // of them have settled that. Generations start anew in each epoch, above all earlier ones.
  JobRendezvous(const NodeView& node, Engine& engine, Progress progress, std::vector<Rank> members,
                uint32_t epoch);
  JobRendezvous(const JobRendezvous&) = delete;
  JobRendezvous& operator=(const JobRendezvous&) = delete;

  bool arrived() const override { return arrived_; }
  absl::Status Meet(const CollectiveCall& call, const AgreementBitmap* bitmap, WaitLimit limit,
                    AgreedBitmaps* agreed) override;
  absl::Status Settle(Deadline deadline) override { return AwaitLanding(deadline); }

 private:
  // --- The rounds. ---
  void Arrive(const CollectiveCall& call, const AgreementBitmap* bitmap);
  absl::Status Send(Deadline deadline);
  bool HasMessage() const;
  absl::Status AwaitMessage(Deadline deadline);
  // Adds what the message of this round says to what is known.
  void TakeMessage();
  absl::Status AwaitLanding(Deadline deadline);

  size_t IndexOf(Rank member) const;
  Rank Sender(Rank receiver, uint32_t round) const;
  Rank Receiver(Rank sender, uint32_t round) const;
  // The lowest of those that member `rank` knows of before `round`.
  Rank LowestKnown(Rank rank, uint32_t round) const;
  RoundSlot& slot() const {
    return node_.control(node_.rank).rendezvous.rounds[generation_ % 2][round_];
  }
  // Publishes that this rank is in `step` of the generation.
  void Publish(uint64_t step);

  // --- What goes wrong. ---
  // Looks after the messages under way; true: one cannot land, see `failed_`.
  bool HasFailed();
  absl::Status FailedError();
  absl::Status LostError(Rank lost) const;
  absl::Status LateError();
  absl::Status LandingLateError() const;
  // Who has died first, or left before it had done its part, so that the meeting
  // cannot complete.
  std::optional<Rank> FirstMissed();
  // What `rank` has published, if it answers.
  std::optional<uint64_t> StateOf(Rank rank, Deadline deadline);

  struct Sent {
    Rank to;
    Engine::Handle handle;
  };

  const NodeView node_;
  Engine& engine_;
  const Progress progress_;
  const std::vector<Rank> members_;
  const uint32_t rounds_;
  const int spins_;
  Waiter waiter_;

  uint64_t generation_;
  bool arrived_ = false;
  uint32_t round_ = 0;  // Whose message is waited for; `rounds_`: none any more.
  uint32_t sent_ = 0;   // Rounds whose message was sent.
  bool plain_ = true;   // All that is known of are plain barriers; else `known_` counts.
  CallSummary known_;
  std::vector<Sent> under_way_;
  absl::Status failed_;  // Why a message could not be sent: for good.
  std::set<Rank> done_;  // Those that have left, having completed this generation.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_SYNC_JOB_RENDEZVOUS_H_
