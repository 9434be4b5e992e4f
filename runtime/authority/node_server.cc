#include "runtime/authority/node_server.h"

#include <utility>

#include "absl/strings/str_format.h"

namespace weft {
namespace {

using Type = WireMessage::Type;

}  // namespace

NodeServer::NodeServer(const NodeMap& map, std::optional<uint32_t> node, JobAuthority& job,
                       Outside& outside, bool survivors_go_on)
    : map_(map),
      node_(node),
      job_(job),
      outside_(outside),
      survivors_go_on_(survivors_go_on),
      members_(map.size()) {}

void NodeServer::Receive(Rank rank, pid_t process, std::string_view datagram) {
  auto message = DecodeWire(datagram);
  if (!message.ok()) {
    Refuse(rank, WireId(datagram), message.status());
    return;
  }
  Member& member = members_[rank];
  if (message->type == Type::kJoin) {
    Join(rank, process, *message);
    return;
  }
  if (message->type == Type::kAbort) {
    outside_.OnAbort(rank, static_cast<int>(static_cast<int32_t>(message->first)), message->text);
    return;
  }
  if (member.standing != Standing::kJoined) {
    // It has left meanwhile, and what is not answered is not refused.
    if (message->type == Type::kAcknowledge || message->type == Type::kAccuse) return;
    Refuse(rank, message->id,
           absl::FailedPreconditionError(absl::StrFormat("rank %u %s", rank,
                                                         member.standing == Standing::kStarted
                                                             ? "has not joined the job"
                                                             : "has left the job")));
    return;
  }
  if (message->type == Type::kLeave) member.standing = Standing::kLeft;
  job_.Request(rank, *message);
  if (message->type == Type::kLeave) outside_.OnLeft(rank);
}

void NodeServer::Refuse(Rank rank, uint32_t id, const absl::Status& status) {
  outside_.Send(rank, StatusToWire(id, status), nullptr);
}

void NodeServer::Join(Rank rank, pid_t process, const WireMessage& request) {
  Member& member = members_[rank];
  if (member.standing != Standing::kStarted) {
    Refuse(rank, request.id,
           absl::FailedPreconditionError(absl::StrFormat(
               "rank %u has joined the job already, as process %d; a rank joins once, in one "
               "process",
               rank, member.process)));
    return;
  }
  member.standing = Standing::kJoined;
  member.process = process;
  job_.Request(rank, request);
  outside_.OnJoined(rank, process);
}

void NodeServer::Answer(Rank to, const WireMessage& answer) {
  const NodeFds* fds = nullptr;
  if (answer.type == Type::kMemory && !fds_.empty()) fds = &fds_[node_ ? 0 : map_.of(to)];
  outside_.Send(to, answer, fds);
  if (answer.type != Type::kWelcome) return;
  members_[to].welcome = true;
  for (const Rank dead : dead_) outside_.Send(to, {.type = Type::kDeath, .first = dead}, nullptr);
}

void NodeServer::MakeMemory(const MemoryShape& shape) { job_.ReportMemory(TryMakeMemory(shape)); }

absl::Status NodeServer::TryMakeMemory(const MemoryShape& shape) {
  auto made = node_ ? NodeAuthority::CreateOn(*node_, map_, shape)
                    : NodeAuthority::Create(map_.size(), shape, map_.nodes());
  if (!made.ok()) return made.status();
  if (survivors_go_on_) made->LetSurvivorsGoOn();
  std::vector<NodeFds> fds;
  for (uint32_t node = node_.value_or(0); node < (node_ ? *node_ + 1 : map_.nodes()); ++node) {
    auto copies = made->Duplicate(node);
    if (!copies.ok()) return copies.status();
    fds.push_back(*std::move(copies));
  }
  memory_ = *std::move(made);
  fds_ = std::move(fds);
  return absl::OkStatus();
}

void NodeServer::ReportDeath(Rank rank, int wait_status, std::string_view how) {
  Member& member = members_[rank];
  if (member.standing != Standing::kStarted && member.standing != Standing::kJoined) return;
  member.standing = Standing::kDead;
  job_.ReportDeath(rank, wait_status, how);
}

void NodeServer::ReportEndedUnjoined(Rank rank) {
  if (members_[rank].standing != Standing::kStarted) return;
  members_[rank].standing = Standing::kEndedUnjoined;
  job_.ReportEndedUnjoined(rank);
}

void NodeServer::Publish(Rank rank, MemberState state, int wait_status) {
  if (state == MemberState::kLeft) {
    if (memory_) memory_->MarkLeft(rank);
    return;
  }
  if (memory_) memory_->MarkDead(rank, wait_status);
  dead_.push_back(rank);
  for (Rank r = 0; r < map_.size(); ++r) {
    if (!members_[r].welcome || members_[r].standing != Standing::kJoined) continue;
    outside_.Send(r, {.type = Type::kDeath, .first = rank}, nullptr);
  }
}

void NodeServer::Propose(uint32_t proposal) {
  if (memory_) memory_->Propose(proposal);
}

void NodeServer::Announce(uint32_t epoch) {
  if (memory_) memory_->Announce(epoch);
}

}  // namespace weft
