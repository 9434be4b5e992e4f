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

JobServer::JobServer(Rank size, uint32_t nodes, uint32_t memories, JobNodes& to)
    : size_(size), nodes_(nodes), memories_(memories), to_(to), members_(size) {}

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
}

void JobServer::ReportEndedUnjoined(Rank rank) {
  if (members_[rank].standing != Standing::kStarted) return;
  LoseMember(rank, Standing::kEndedUnjoined,
             absl::StrFormat("rank %u ended without joining the job", rank));
}

void JobServer::LoseMember(Rank rank, Standing standing, std::string why) {
  Member& member = members_[rank];
  member.standing = standing;
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

std::string JobServer::WhoIsMissing() const {
  RankList missing;
  for (Rank rank = 0; rank < size_; ++rank) {
    if (members_[rank].waiting) continue;
    missing.Add(rank, members_[rank].standing == Standing::kStarted ? " (has not joined)" : "");
  }
  if (waiting_ == size_) return "waiting for the nodes to make their memory";
  return absl::StrCat("waiting for ", missing.Text());
}

}  // namespace weft
