#include "runtime/authority/job_server.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/authority/rank_list.h"
#include "runtime/bootstrap/key_value.h"

namespace weft {
namespace {

using Type = WireMessage::Type;

std::string_view NameOf(Type type) {
  return type == Type::kFence ? "a fence" : "the node's memory";
}

}  // namespace

JobServer::JobServer(Rank size, uint32_t nodes, uint32_t memories, JobNodes& to,
                     bool survivors_go_on)
    : size_(size),
      nodes_(nodes),
      memories_(memories),
      survivors_go_on_(survivors_go_on),
      to_(to),
      members_(size) {}

void JobServer::Request(Rank rank, const WireMessage& request) {
  switch (request.type) {
    case Type::kJoin:
      Join(rank, request.id);
      break;
    case Type::kShareMemory:
    case Type::kFence:
      EnterCollective(rank, request);
      break;
    case Type::kPut:
      Put(rank, request);
      break;
    case Type::kGet:
      Get(rank, request);
      break;
    case Type::kMissing:
      to_.Answer(rank, {.type = Type::kValue, .id = request.id, .value = WhoIsMissing()});
      break;
    case Type::kLeave:
      Leave(rank, request.id);
      break;
    case Type::kAcknowledge:
      if (epochs_.Acknowledge(rank, static_cast<uint32_t>(request.first))) {
        to_.Announce(epochs_.epoch());
      }
      break;
    case Type::kAccuse:
      Accuse(rank, request.first, request.text);
      break;
    case Type::kContinue:
      Continue(rank, request);
      break;
    default:
      Answer(rank, request.id,
             absl::InvalidArgumentError(
                 absl::StrFormat("a message of type %d, which only weftrun sends", request.type)));
  }
}

void JobServer::Answer(Rank rank, uint32_t id, const absl::Status& status) {
  to_.Answer(rank, StatusToWire(id, status));
}

void JobServer::Join(Rank rank, uint32_t id) {
  if (members_[rank].standing == Standing::kStarted) members_[rank].standing = Standing::kJoined;
  to_.Answer(rank, {.type = Type::kWelcome,
                    .id = id,
                    .first = rank,
                    .second = size_,
                    .value = std::string(secret_.begin(), secret_.end())});
}

void JobServer::Put(Rank rank, const WireMessage& request) {
  const auto [entry, added] = store_.try_emplace(request.text, Entry{rank, request.value});
  Answer(rank, request.id,
         added ? absl::OkStatus()
               : absl::AlreadyExistsError(absl::StrFormat("rank %u has put the key \"%s\" already",
                                                          entry->second.owner,
                                                          absl::CEscape(request.text))));
}

void JobServer::Get(Rank rank, const WireMessage& request) {
  const auto entry = store_.find(request.text);
  if (entry == store_.end()) {
    Answer(rank, request.id, NoSuchKey(request.text));
    return;
  }
  to_.Answer(rank, {.type = Type::kValue, .id = request.id, .value = entry->second.value});
}

void JobServer::Leave(Rank rank, uint32_t id) {
  LoseMember(rank, Standing::kLeft, absl::StrFormat("rank %u has left the job", rank));
  to_.Publish(rank, MemberState::kLeft, 0);
  Answer(rank, id, absl::OkStatus());
  if (epochs_.Excuse(rank)) to_.Announce(epochs_.epoch());
  CompleteContinue();
}

void JobServer::EnterCollective(Rank rank, const WireMessage& request) {
  Member& member = members_[rank];
  const uint32_t id = request.id;
  if (!first_loss_.empty()) {
    Answer(rank, id, absl::UnavailableError(first_loss_));
  } else if (member.waiting) {
    Answer(rank, id,
           absl::FailedPreconditionError(absl::StrFormat(
               "rank %u waits in %s already", rank, std::string(NameOf(member.waiting->type)))));
  } else if (member.has_memory && request.type == Type::kShareMemory) {
    Answer(rank, id,
           absl::FailedPreconditionError(absl::StrFormat("rank %u has its memory already", rank)));
  } else {
    member.waiting = request;
    if (++waiting_ == size_) CompleteCollective();
  }
}

absl::Status JobServer::CompareRequests() const {
  const WireMessage& first = *members_[0].waiting;
  for (Rank r = 1; r < size_; ++r) {
    const WireMessage& other = *members_[r].waiting;
    if (other.type != first.type) {
      return absl::InvalidArgumentError(absl::StrFormat("rank %u called for %s, but rank 0 for %s",
                                                        r, std::string(NameOf(other.type)),
                                                        std::string(NameOf(first.type))));
    }
    if (other.first != first.first || other.second != first.second) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "rank %u asked for a slab of %u bytes with %u of them local, but rank 0 for %u with %u: "
          "all ranks must ask for the same",
          r, other.first, other.second, first.first, first.second));
    }
  }
  return absl::OkStatus();
}

void JobServer::CompleteCollective() {
  const absl::Status agreed = CompareRequests();
  const WireMessage& first = *members_[0].waiting;
  if (!agreed.ok() || first.type != Type::kShareMemory) {
    AnswerCollective(agreed, /*with_memory=*/false);
    return;
  }
  memory_due_ = memories_;
  memory_ = absl::OkStatus();
  to_.MakeMemory({.slab_bytes = first.first, .local_bytes = first.second});
}

void JobServer::ReportMemory(const absl::Status& status) {
  // None is due: a rank was lost meanwhile, and who waited has heard of it.
  if (memory_due_ == 0) return;
  memory_.Update(status);
  if (--memory_due_ == 0) AnswerCollective(memory_, memory_.ok());
}

void JobServer::AnswerCollective(const absl::Status& status, bool with_memory) {
  waiting_ = 0;
  formed_ |= with_memory;
  for (Rank r = 0; r < size_; ++r) {
    const uint32_t id = members_[r].waiting->id;
    members_[r].waiting.reset();
    members_[r].has_memory |= with_memory;
    if (with_memory) {
      to_.Answer(r, {.type = Type::kMemory, .id = id, .first = nodes_});
    } else {
      Answer(r, id, status);
    }
  }
}

void JobServer::ReportDeath(Rank rank, int wait_status, std::string_view how) {
  if (!Runs(rank)) return;
  LoseMember(rank, Standing::kDead, absl::StrFormat("rank %u %s", rank, std::string(how)));
  to_.Publish(rank, MemberState::kDead, wait_status);
  if (survivable()) Propose();
}

void JobServer::ReportEndedUnjoined(Rank rank) {
  if (members_[rank].standing != Standing::kStarted) return;
  LoseMember(rank, Standing::kEndedUnjoined,
             absl::StrFormat("rank %u ended without joining the job", rank));
}

void JobServer::LoseMember(Rank rank, Standing standing, std::string why) {
  Member& member = members_[rank];
  member.standing = standing;
  member.continuing.reset();
  if (member.waiting) {
    member.waiting.reset();
    --waiting_;
  }
  memory_due_ = 0;
  if (first_loss_.empty()) first_loss_ = std::move(why);
  for (Rank r = 0; r < size_ && waiting_ > 0; ++r) {
    if (!members_[r].waiting) continue;
    const uint32_t id = members_[r].waiting->id;
    members_[r].waiting.reset();
    --waiting_;
    Answer(r, id, absl::UnavailableError(first_loss_));
  }
}

std::vector<Rank> JobServer::Joined() const {
  std::vector<Rank> joined;
  for (Rank rank = 0; rank < size_; ++rank) {
    if (members_[rank].standing == Standing::kJoined) joined.push_back(rank);
  }
  return joined;
}

void JobServer::Propose() {
  const std::vector<Rank> joined = Joined();
  to_.Propose(epochs_.Propose(joined, MonotonicNanos()));
  // They wanted to go on without those that were dead before.
  for (const Rank rank : joined) {
    const auto request = std::exchange(members_[rank].continuing, std::nullopt);
    if (request) Answer(rank, request->id, absl::AbortedError("another rank has died"));
  }
}

void JobServer::Tick(int64_t now) {
  for (const Rank rank : epochs_.Late(now)) {
    Condemn(rank, absl::StrFormat("it did not give up those that had died within %g s",
                                  absl::ToDoubleSeconds(Epochs::kPatience)));
  }
}

void JobServer::Condemn(Rank rank, std::string_view why) {
  if (std::exchange(members_[rank].condemned, true)) return;
  to_.Kill(rank, why);
}

void JobServer::Accuse(Rank rank, uint64_t other, std::string_view why) {
  if (!survivable() || other >= size_ || !Runs(static_cast<Rank>(other))) return;
  if (!Runs(rank) || members_[rank].condemned) return;
  Condemn(static_cast<Rank>(other),
          absl::StrFormat("rank %u could not reach it any more: %s", rank, std::string(why)));
}

void JobServer::Continue(Rank rank, const WireMessage& request) {
  if (!survivable()) {
    Answer(rank, request.id, absl::FailedPreconditionError("this job ends when a rank fails"));
  } else if (epochs_.pending() || request.first != epochs_.epoch()) {
    Answer(rank, request.id, absl::AbortedError("another rank has died"));
  } else {
    members_[rank].continuing = request;
    CompleteContinue();
  }
}

void JobServer::CompleteContinue() {
  const std::vector<Rank> joined = Joined();
  std::string members(size_ / 8 + 1, '\0');
  const WireMessage* furthest = nullptr;
  for (const Rank rank : joined) {
    const auto& request = members_[rank].continuing;
    if (!request) return;
    members[rank / 8] = static_cast<char>(members[rank / 8] | 1 << rank % 8);
    if (furthest == nullptr || request->second > furthest->second) furthest = &*request;
  }
  if (furthest == nullptr) return;
  const WireMessage answer = {.type = Type::kContinued,
                              .first = furthest->second,
                              .second = epochs_.epoch(),
                              .value = absl::StrCat(members, furthest->value)};
  for (const Rank rank : joined) {
    WireMessage own = answer;
    own.id = std::exchange(members_[rank].continuing, std::nullopt)->id;
    to_.Answer(rank, own);
  }
}

std::string JobServer::WhoIsMissing() const {
  RankList missing;
  for (Rank rank = 0; rank < size_; ++rank) {
    if (members_[rank].waiting || members_[rank].continuing) continue;
    // Who goes on does so without those.
    if (formed_ && !Runs(rank)) continue;
    missing.Add(rank, members_[rank].standing == Standing::kStarted ? " (has not joined)" : "");
  }
  if (waiting_ == size_) return "waiting for the nodes to make their memory";
  return absl::StrCat("waiting for ", missing.Text());
}

}  // namespace weft
