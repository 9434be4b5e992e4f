#include "tools/weftrun/uplink.h"

#include <string>

namespace weft {

using Type = Frame::Type;

void Uplink::Request(Rank rank, const WireMessage& request) {
  send_({.type = Type::kRequest, .rank = rank, .data = EncodeWire(request)});
}

void Uplink::ReportDeath(Rank rank, int wait_status, std::string_view how) {
  send_({.type = Type::kDeath, .rank = rank, .number = wait_status, .text = std::string(how)});
}

void Uplink::ReportEndedUnjoined(Rank rank) { send_({.type = Type::kEndedUnjoined, .rank = rank}); }

void Uplink::ReportMemory(const absl::Status& status) {
  send_({.type = Type::kMemoryMade,
         .number = static_cast<int>(status.code()),
         .text = std::string(status.message())});
}

Frame AnswerFrame(Rank to, const WireMessage& answer) {
  return {.type = Type::kAnswer, .rank = to, .data = EncodeWire(answer)};
}

Frame MakeMemoryFrame(const MemoryShape& shape) {
  return {.type = Type::kMakeMemory, .first = shape.slab_bytes, .second = shape.local_bytes};
}

Frame PublishFrame(Rank rank, MemberState state, int wait_status) {
  return {.type = Type::kPublish,
          .rank = rank,
          .number = wait_status,
          .first = static_cast<uint64_t>(state)};
}

Frame ProposeFrame(uint32_t proposal) { return {.type = Type::kPropose, .first = proposal}; }

Frame AnnounceFrame(uint32_t epoch) { return {.type = Type::kAnnounce, .first = epoch}; }

Frame KillFrame(Rank rank, std::string_view why) {
  return {.type = Type::kKill, .rank = rank, .text = std::string(why)};
}

bool CallNode(const Frame& frame, Rank size, JobNodes& node) {
  if (frame.rank >= size) return false;
  switch (frame.type) {
    case Type::kAnswer: {
      const auto answer = DecodeWire(frame.data);
      if (answer.ok()) node.Answer(frame.rank, *answer);
      return answer.ok();
    }
    case Type::kMakeMemory:
      node.MakeMemory({.slab_bytes = frame.first, .local_bytes = frame.second});
      return true;
    case Type::kPublish:
      node.Publish(frame.rank, static_cast<MemberState>(frame.first), frame.number);
      return true;
    case Type::kPropose:
      node.Propose(static_cast<uint32_t>(frame.first));
      return true;
    case Type::kAnnounce:
      node.Announce(static_cast<uint32_t>(frame.first));
      return true;
    case Type::kKill:
      node.Kill(frame.rank, frame.text);
      return true;
    default:
      return false;
  }
}

bool CallAuthority(const Frame& frame, Rank size, JobAuthority& authority) {
  if (frame.rank >= size) return false;
  switch (frame.type) {
    case Type::kRequest: {
      const auto request = DecodeWire(frame.data);
      if (request.ok()) authority.Request(frame.rank, *request);
      return request.ok();
    }
    case Type::kDeath:
      authority.ReportDeath(frame.rank, frame.number, frame.text);
      return true;
    case Type::kEndedUnjoined:
      authority.ReportEndedUnjoined(frame.rank);
      return true;
    case Type::kMemoryMade:
      authority.ReportMemory(absl::Status(static_cast<absl::StatusCode>(frame.number), frame.text));
      return true;
    default:
      return false;
  }
}

}  // namespace weft
