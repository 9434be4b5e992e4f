#include "tools/weftrun/fleet.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/authority/rank_list.h"
#include "tools/weftrun/exit_status.h"
#include "tools/weftrun/uplink.h"

namespace weft {

using Type = Frame::Type;

Fleet::Fleet(const NodeMap& map, std::vector<std::string> hosts, Policy policy, Outside outside)
    : map_(map),
      hosts_(std::move(hosts)),
      outside_(std::move(outside)),
      ended_(hosts_.size()),
      running_(hosts_.size()) {
  if (policy.has_authority) {
    job_.emplace(map.size(), map.nodes(), static_cast<uint32_t>(hosts_.size()), *this,
                 policy.survivors_go_on);
  }
}

Fleet::Decision Fleet::verdict() const {
  if (decision_) return *decision_;
  // With a failure that nobody survived the job has failed.
  if (survived_ && ended_well_ == 0) return *survived_;
  return {};
}

void Fleet::Receive(uint32_t host, const Frame& frame) {
  if (ended_[host]) return;
  switch (frame.type) {
    case Type::kFailed:
      Decide(host, frame.number, frame.text);
      return;
    case Type::kSurvived:
      Survive(host, frame.number, frame.text);
      return;
    case Type::kVerdict:
      ended_well_ += frame.first;
      // The last word of the host that decided may say more than its first.
      if (decision_ && decision_->host == host) decision_ = std::nullopt;
      if (!decision_ && frame.number != 0 && CanSurvive()) {
        // What decides is said before the verdict: its guard itself has failed.
        Survive(host, frame.number, frame.text);
      } else if (!decision_ && (frame.number != 0 || !frame.text.empty())) {
        Decide(host, frame.number, frame.text);
      }
      End(host, "was ended with the job");
      return;
    case Type::kMemoryMade:
      if (frame.number != 0 && job_) {
        Frame named = frame;
        named.text = absl::StrCat("on ", hosts_[host], ": ", frame.text);
        CallAuthority(named, map_.size(), *job_);
        return;
      }
      break;
    default:
      // A guard speaks for its own ranks alone.
      if (frame.rank >= map_.size() || map_.of(frame.rank) != host) return;
  }
  if (job_) CallAuthority(frame, map_.size(), *job_);
}

void Fleet::Lose(uint32_t host, std::string_view why) {
  if (ended_[host]) return;
  const std::string reason(why);
  RankList lost;
  for (Rank rank = 0; job_ && rank < map_.size(); ++rank) {
    if (map_.of(rank) == host && job_->Runs(rank)) lost.Add(rank);
  }
  const std::string line = lost.empty() ? reason
                                        : absl::StrFormat("host %s is lost, and %s with it: %s",
                                                          hosts_[host], lost.Text(), reason);
  if (CanSurvive()) {
    Survive(host, kExitLauncher, line);
  } else {
    Decide(host, kExitLauncher, line + "; the job was ended");
  }
  End(host, absl::StrFormat("died with its host %s: %s", hosts_[host], reason));
}

void Fleet::FailToStart(uint32_t host, std::string_view why) {
  if (ended_[host]) return;
  Decide(host, kExitLauncher, std::string(why));
  End(host, "was not started");
}

void Fleet::End(uint32_t host, std::string_view how) {
  ended_[host] = true;
  --running_;
  // Those that its guard did not see end.
  for (Rank rank = 0; job_ && rank < map_.size(); ++rank) {
    if (map_.of(rank) == host) job_->ReportDeath(rank, -1, how);
  }
}

bool Fleet::CanSurvive() const { return !decision_ && job_ && job_->survivable() && running_ > 1; }

void Fleet::Survive(uint32_t host, int code, std::string line) {
  outside_.say(absl::StrCat(line, "; the others go on"));
  if (!survived_) survived_ = Decision{host, code, absl::StrCat(line, ", and no rank ended well")};
}

void Fleet::Decide(std::optional<uint32_t> host, int code, std::string line) {
  if (decision_) return;
  decision_ = Decision{host, code, std::move(line)};
  Broadcast({.type = Type::kFailed, .number = code, .text = decision_->line}, host);
}

void Fleet::Signal(int signal) { Broadcast({.type = Type::kSignal, .number = signal}); }

void Fleet::CutShort(int code, std::string line) {
  // The only host's guard knows whether something else came first.
  if (job_ && !decision_) decision_ = Decision{std::nullopt, code, line};
  Broadcast({.type = Type::kCutShort, .number = code, .text = std::move(line)});
}

void Fleet::TimeOut(absl::Duration timeout) {
  std::string running;
  for (uint32_t host = 0; job_ && host < hosts_.size(); ++host) {
    RankList ranks;
    for (Rank rank = 0; rank < map_.size(); ++rank) {
      if (map_.of(rank) == host && job_->Runs(rank)) ranks.Add(rank);
    }
    if (ranks.empty()) continue;
    absl::StrAppend(&running, running.empty() ? "" : ", ", ranks.Text(), " on ", hosts_[host]);
  }
  if (running.empty()) running = "ranks that had left it";
  CutShort(kExitTimeout,
           absl::StrFormat("the job did not end within %g s (--timeout): %s still ran",
                           absl::ToDoubleSeconds(timeout), running));
}

void Fleet::Broadcast(const Frame& frame, std::optional<uint32_t> but) {
  for (uint32_t host = 0; host < hosts_.size(); ++host) {
    if (!ended_[host] && host != but) outside_.send(host, frame);
  }
}

void Fleet::Answer(Rank to, const WireMessage& answer) {
  if (!ended_[map_.of(to)]) outside_.send(map_.of(to), AnswerFrame(to, answer));
}

void Fleet::MakeMemory(const MemoryShape& shape) { Broadcast(MakeMemoryFrame(shape)); }

void Fleet::Publish(Rank rank, MemberState state, int wait_status) {
  Broadcast(PublishFrame(rank, state, wait_status));
}

void Fleet::Propose(uint32_t proposal) { Broadcast(ProposeFrame(proposal)); }

void Fleet::Announce(uint32_t epoch) { Broadcast(AnnounceFrame(epoch)); }

void Fleet::Kill(Rank rank, std::string_view why) {
  if (!ended_[map_.of(rank)]) outside_.send(map_.of(rank), KillFrame(rank, why));
}

}  // namespace weft
