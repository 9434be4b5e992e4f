#include "tools/weftrun/bootstrap_server.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/node_of.h"
#include "runtime/bootstrap/key_value.h"
#include "tools/weftrun/rank_list.h"

namespace weft {
namespace {

using Type = WireMessage::Type;

std::string_view NameOf(Type type) {
  return type == Type::kFence ? "a fence" : "the node's memory";
}

}  // namespace

BootstrapServer::BootstrapServer(Rank size, Outside& outside, uint32_t nodes)
    : size_(size), nodes_(nodes), outside_(outside), members_(size) {}

void BootstrapServer::Receive(Rank rank, pid_t process, std::string_view datagram) {
  auto message = DecodeWire(datagram);
  if (!message.ok()) {
    Answer(rank, WireId(datagram), message.status());
    return;
  }
  const Standing standing = members_[rank].standing;
  if (message->type == Type::kJoin) {
    Join(rank, process, message->id);
    return;
  }
  if (message->type == Type::kAbort) {
    outside_.OnAbort(rank, static_cast<int>(static_cast<int32_t>(message->first)), message->text);
    return;
  }
  if (standing != Standing::kJoined) {
    Answer(rank, message->id,
           absl::FailedPreconditionError(absl::StrFormat(
               "rank %u %s", rank,
               standing == Standing::kStarted ? "has not joined the job" : "has left the job")));
    return;
  }
  switch (message->type) {
    case Type::kShareMemory:
    case Type::kFence:
      EnterCollective(rank, *std::move(message));
      break;
    case Type::kPut:
      Put(rank, *message);
      break;
    case Type::kGet:
      Get(rank, *message);
      break;
    case Type::kMissing:
      outside_.Send(rank, {.type = Type::kValue, .id = message->id, .value = WhoIsMissing()},
                    nullptr);
      break;
    case Type::kLeave:
      Leave(rank, message->id);
      break;
    default:
      Answer(rank, message->id,
             absl::InvalidArgumentError(
                 absl::StrFormat("a message of type %d, which only weftrun sends", message->type)));
  }
}

void BootstrapServer::Answer(Rank rank, uint32_t id, const absl::Status& status) {
  outside_.Send(rank, StatusToWire(id, status), nullptr);
}

void BootstrapServer::Join(Rank rank, pid_t process, uint32_t id) {
  Member& member = members_[rank];
  if (member.standing != Standing::kStarted) {
    Answer(rank, id,
           absl::FailedPreconditionError(absl::StrFormat(
               "rank %u has joined the job already, as process %d; a rank joins once, in one "
               "process",
               rank, member.process)));
    return;
  }
  member.standing = Standing::kJoined;
  member.process = process;
  outside_.Send(rank,
                {.type = Type::kWelcome,
                 .id = id,
                 .first = rank,
                 .second = size_,
                 .value = std::string(secret_.begin(), secret_.end())},
                nullptr);
  for (const Rank dead : dead_) {
    outside_.Send(rank, {.type = Type::kDeath, .first = dead}, nullptr);
  }
  outside_.OnJoined(rank, process);
}

void BootstrapServer::Put(Rank rank, const WireMessage& request) {
  const auto [entry, added] = store_.try_emplace(request.text, Entry{rank, request.value});
  Answer(rank, request.id,
         added ? absl::OkStatus()
               : absl::AlreadyExistsError(absl::StrFormat("rank %u has put the key \"%s\" already",
                                                          entry->second.owner,
                                                          absl::CEscape(request.text))));
}

void BootstrapServer::Get(Rank rank, const WireMessage& request) {
  const auto entry = store_.find(request.text);
  if (entry == store_.end()) {
    Answer(rank, request.id, NoSuchKey(request.text));
    return;
  }
  outside_.Send(rank, {.type = Type::kValue, .id = request.id, .value = entry->second.value},
                nullptr);
}

void BootstrapServer::Leave(Rank rank, uint32_t id) {
  LoseMember(rank, Standing::kLeft, absl::StrFormat("rank %u has left the job", rank));
  if (memory_) memory_->MarkLeft(rank);
  Answer(rank, id, absl::OkStatus());
  outside_.OnLeft(rank);
}

void BootstrapServer::EnterCollective(Rank rank, WireMessage request) {
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
    member.waiting = std::move(request);
    if (++waiting_ == size_) CompleteCollective();
  }
}

void BootstrapServer::CompleteCollective() {
  waiting_ = 0;
  absl::Status status;
  const WireMessage first = *members_[0].waiting;
  for (Rank r = 1; r < size_ && status.ok(); ++r) {
    const WireMessage& other = *members_[r].waiting;
    if (other.type != first.type) {
      status = absl::InvalidArgumentError(
          absl::StrFormat("rank %u called for %s, but rank 0 for %s", r,
                          std::string(NameOf(other.type)), std::string(NameOf(first.type))));
    } else if (other.first != first.first || other.second != first.second) {
      status = absl::InvalidArgumentError(absl::StrFormat(
          "rank %u asked for a slab of %u bytes with %u of them local, but rank 0 for %u with %u: "
          "all ranks must ask for the same",
          r, other.first, other.second, first.first, first.second));
    }
  }
  std::vector<NodeFds> fds;  // By node.
  if (status.ok() && first.type == Type::kShareMemory) {
    status = MakeMemory();
    for (uint32_t node = 0; node < nodes_ && status.ok(); ++node) {
      auto copies = memory_->Duplicate(node);
      if (copies.ok()) fds.push_back(*std::move(copies));
      status = copies.status();
    }
  }
  for (Rank r = 0; r < size_; ++r) {
    const uint32_t id = members_[r].waiting->id;
    members_[r].waiting.reset();
    if (status.ok() && !fds.empty()) {
      members_[r].has_memory = true;
      outside_.Send(r, {.type = Type::kMemory, .id = id, .first = nodes_},
                    &fds[NodeOf(r, size_, nodes_)]);
    } else {
      Answer(r, id, status);
    }
  }
}

absl::Status BootstrapServer::MakeMemory() {
  const WireMessage& request = *members_[0].waiting;
  auto made = NodeAuthority::Create(
      size_, {.slab_bytes = request.first, .local_bytes = request.second}, nodes_);
  if (!made.ok()) return made.status();
  memory_ = *std::move(made);
  return absl::OkStatus();
}

void BootstrapServer::ReportDeath(Rank rank, int wait_status, std::string_view how) {
  const Standing standing = members_[rank].standing;
  if (standing != Standing::kStarted && standing != Standing::kJoined) return;
  LoseMember(rank, Standing::kDead, absl::StrFormat("rank %u %s", rank, std::string(how)));
  if (memory_) memory_->MarkDead(rank, wait_status);
  dead_.push_back(rank);
  for (Rank r = 0; r < size_; ++r) {
    if (members_[r].standing != Standing::kJoined) continue;
    outside_.Send(r, {.type = Type::kDeath, .first = rank}, nullptr);
  }
}

void BootstrapServer::ReportEndedUnjoined(Rank rank) {
  if (members_[rank].standing != Standing::kStarted) return;
  LoseMember(rank, Standing::kEndedUnjoined,
             absl::StrFormat("rank %u ended without joining the job", rank));
}

void BootstrapServer::LoseMember(Rank rank, Standing standing, std::string why) {
  Member& member = members_[rank];
  member.standing = standing;
  if (member.waiting) {
    member.waiting.reset();
    --waiting_;
  }
  if (first_loss_.empty()) first_loss_ = std::move(why);
  for (Rank r = 0; r < size_ && waiting_ > 0; ++r) {
    if (!members_[r].waiting) continue;
    const uint32_t id = members_[r].waiting->id;
    members_[r].waiting.reset();
    --waiting_;
    Answer(r, id, absl::UnavailableError(first_loss_));
  }
}

std::string BootstrapServer::WhoIsMissing() const {
  RankList missing;
  for (Rank rank = 0; rank < size_; ++rank) {
    if (members_[rank].waiting) continue;
    missing.Add(rank, members_[rank].standing == Standing::kStarted ? " (has not joined)" : "");
  }
  return absl::StrCat("waiting for ", missing.Text());
}

}  // namespace weft
