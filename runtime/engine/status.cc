// What is said of an operation: why it cannot start, and what became of it.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/in_doubt.h"
#include "runtime/engine/engine_impl.h"
#include "runtime/transport/address.h"

namespace weft {
namespace {

const char* NameOf(Op::Kind kind) {
  switch (kind) {
    case Op::Kind::kPut:
      return "put";
    case Op::Kind::kGet:
      return "get";
    case Op::Kind::kFetchAdd:
      return "fetch-add";
    case Op::Kind::kCompareSwap:
      return "compare-swap";
    case Op::Kind::kSwap:
      return "swap";
    case Op::Kind::kFetch:
      return "fetch";
    case Op::Kind::kSet:
      return "set";
    case Op::Kind::kAnd:
      return "and";
    case Op::Kind::kOr:
      return "or";
    case Op::Kind::kXor:
      return "xor";
  }
  return "operation";
}

std::string Describe(const Slot& slot) {
  Op op = slot.op;
  if (slot.emulated) slot.emulated->Restore(op);
  return absl::StrCat(
      NameOf(op.kind), " of ", op.length, " bytes at offset ", op.offset, " of rank ", slot.peer,
      slot.held > 1 ? absl::StrCat(", or one of the ", slot.held - 1, " that were posted behind it")
                    : "");
}

}  // namespace

absl::Status Engine::Impl::Check(const Request& request) const {
  if (request.peer >= node_.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no rank ", request.peer, " in a job of ", node_.size, " ranks"));
  }
  if (IsAtomic(request.kind) && request.length != 4 && request.length != 8) {
    return absl::InvalidArgumentError(absl::StrCat("a ", NameOf(request.kind), " on rank ",
                                                   request.peer, " of ", request.length,
                                                   " bytes: atomics are of 4 or 8 bytes"));
  }
  if (request.length > 0 && ((request.kind == Op::Kind::kPut && request.source == nullptr) ||
                             (request.kind == Op::Kind::kGet && request.destination == nullptr))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a ", NameOf(request.kind), " of ", request.length, " bytes without memory on this side"));
  }
  if (request.ride != Ride::kNone && request.kind != Op::Kind::kPut) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a notification or signal rides on puts only, not on a ", NameOf(request.kind)));
  }
  if (request.ride == Ride::kCounter && request.operand >= kMaxCounters) {
    return absl::InvalidArgumentError(absl::StrCat("notification counter ", request.operand,
                                                   ": a rank has ", kMaxCounters, " of them"));
  }
  return absl::OkStatus();
}

absl::Status Engine::Impl::CheckAddress(const Peer& peer, const Request& request) const {
  const bool slab = request.segment == Segment::Kind::kSlab;
  const uint64_t size = (slab ? peer.slab : peer.control).length;
  const auto where = [&](uint64_t offset, uint64_t length) {
    return absl::StrCat(NameOf(request.kind), " of ", length, " bytes at offset ", offset,
                        " of rank ", peer.rank, "'s ", slab ? "slab" : "control region", " of ",
                        size, " bytes");
  };
  if (!InBounds(request.offset, request.length, size)) {
    return absl::OutOfRangeError(
        absl::StrCat(where(request.offset, request.length), ": out of it; nothing was moved"));
  }
  if (IsAtomic(request.kind) && request.offset % request.length != 0) {
    return absl::OutOfRangeError(absl::StrCat(where(request.offset, request.length),
                                              ": not aligned to its length; nothing was moved"));
  }
  const bool signal = request.ride == Ride::kSetSignal || request.ride == Ride::kAddSignal;
  if (signal && (!InBounds(request.compare, 8, size) || request.compare % 8 != 0)) {
    return absl::OutOfRangeError(absl::StrCat(where(request.offset, request.length),
                                              " with a signal at offset ", request.compare,
                                              ": not an aligned word of it; nothing was moved"));
  }
  return absl::OkStatus();
}

absl::Status Engine::Impl::Outcome(const Slot& slot) const {
  if (slot.end == End::kOk) return absl::OkStatus();
  const Rank peer = slot.peer;
  const std::string what = Describe(slot);
  switch (slot.end) {
    case End::kOk:
      break;
    case End::kNeverStarted:
      return GoneError(peer, what);
    case End::kCutOff: {
      absl::Status status =
          peers_[peer]->gone ? GoneError(peer, what)
                             : absl::UnavailableError(absl::StrCat(
                                   what, " was cut off when the bulk lane to rank ", peer,
                                   " broke, or was given up for another operation that was late"));
      return slot.op.kind == Op::Kind::kGet ? status : MarkInDoubt(std::move(status));
    }
    case End::kBadAddress:
      return absl::OutOfRangeError(absl::StrCat(
          what, ": out of its region of ", slot.op.region->length, " bytes; nothing was moved"));
    case End::kInternal:
      break;
  }
  return absl::InternalError(absl::StrCat(what, ": the transport failed it"));
}

absl::Status Engine::Impl::LateError(const Slot& slot) const {
  const bool started = slot.under_way > 0 || slot.handed_over > 0;
  absl::Status status = absl::DeadlineExceededError(absl::StrCat(
      Describe(slot), " was not complete at its deadline; ",
      started ? "it may still take effect there" : "it was not started, and will not be"));
  return started && slot.op.kind != Op::Kind::kGet ? MarkInDoubt(std::move(status)) : status;
}

}  // namespace weft
