// The job's side of the bootstrap: holds the key-value store, completes fences,
// has the nodes make their memory once all ranks have asked for it, and spreads
// the word of who died or left, in one order for all. Where survivors go on, it
// agrees with them on each dead set (epochs.h), and brings them together again.
//
// It knows of no process, host or socket: requests and deaths come in by calls,
// and what goes out goes through JobNodes. Not thread-safe.
#ifndef WEFT_RUNTIME_AUTHORITY_JOB_SERVER_H_
#define WEFT_RUNTIME_AUTHORITY_JOB_SERVER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "runtime/authority/epochs.h"
#include "runtime/authority/job_authority.h"
#include "runtime/base/deadline.h"
#include "runtime/base/job_secret.h"
#include "runtime/bootstrap/wire.h"
#include "weft/rank.h"

namespace weft {

class JobServer final : public JobAuthority {
 public:
  // The ranks are told that they run on `nodes` nodes. `memories`: how many answer
  // MakeMemory. `to` must outlive the server. `survivors_go_on`: once all have their memory,
  // that is; before, no rank can do without another.
  JobServer(Rank size, uint32_t nodes, uint32_t memories, JobNodes& to,
            bool survivors_go_on = false);

  void Request(Rank rank, const WireMessage& request) override;
  void ReportDeath(Rank rank, int wait_status, std::string_view how) override;
  void ReportEndedUnjoined(Rank rank) override;
  void ReportMemory(const absl::Status& status) override;

  // What is due, and when to call it next.
  void Tick(int64_t now);
  Deadline next() const { return epochs_.next(); }

  // Whether a failure now is survived.
  bool survivable() const { return survivors_go_on_ && formed_; }

  // Whether it has neither left, died nor ended: its host's loss is its death.
  bool Runs(Rank rank) const {
    const Standing standing = members_[rank].standing;
    return standing == Standing::kStarted || standing == Standing::kJoined;
  }

 private:
  enum class Standing : uint8_t { kStarted, kJoined, kLeft, kDead, kEndedUnjoined };
  struct Member {
    Standing standing = Standing::kStarted;
    // The collective request that this rank waits in.
    std::optional<WireMessage> waiting;
    bool has_memory = false;
    // With whom it wants to go on; not in `waiting`.
    std::optional<WireMessage> continuing;
    bool condemned = false;  // It has been asked to be ended.
  };
  struct Entry {
    Rank owner;
    std::string value;
  };

  void Answer(Rank rank, uint32_t id, const absl::Status& status);
  void Join(Rank rank, uint32_t id);
  void Put(Rank rank, const WireMessage& request);
  void Get(Rank rank, const WireMessage& request);
  void Leave(Rank rank, uint32_t id);
  void EnterCollective(Rank rank, const WireMessage& request);
  // All ranks wait: answers them, or has the nodes make the memory first.
  void CompleteCollective();
  // OK if all ask for the same.
  absl::Status CompareRequests() const;
  void AnswerCollective(const absl::Status& status, bool with_memory);
  // `rank` can take part in no collective call any more; who waits hears it.
  void LoseMember(Rank rank, Standing standing, std::string why);
  std::string WhoIsMissing() const;
  void Propose();
  void Condemn(Rank rank, std::string_view why);
  // `rank` cannot reach `other` any more. The first word counts: of two that are cut off from each
  // other one goes on.
  void Accuse(Rank rank, uint64_t other, std::string_view why);
  void Continue(Rank rank, const WireMessage& request);
  // All that can go on want to: answers them.
  void CompleteContinue();
  std::vector<Rank> Joined() const;

  const Rank size_;
  const uint32_t nodes_;
  const uint32_t memories_;
  const bool survivors_go_on_;
  const JobSecret secret_ = MakeJobSecret();
  JobNodes& to_;
  std::vector<Member> members_;
  Rank waiting_ = 0;         // How many are in a collective request.
  std::string first_loss_;   // Why no collective call can complete; empty: they can.
  uint32_t memory_due_ = 0;  // How many have not answered MakeMemory yet.
  absl::Status memory_;      // The first answer that was no.
  bool formed_ = false;      // All have their memory.
  Epochs epochs_;
  std::unordered_map<std::string, Entry> store_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_AUTHORITY_JOB_SERVER_H_
