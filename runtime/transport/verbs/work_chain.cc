#include "runtime/transport/verbs/work_chain.h"

#include <cstring>

#include "runtime/transport/address.h"

namespace weft {
namespace {

bool IsSignal(Ride ride) { return ride == Ride::kSetSignal || ride == Ride::kAddSignal; }

bool IsAnswered(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
         opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

}  // namespace

void WorkChain::AppendProof() {
  ibv_send_wr& request =
      Append(IBV_WR_RDMA_READ, setup_.scratch.at, sizeof(uint64_t), setup_.scratch.key);
  request.wr.rdma = {.remote_addr = proof_.at, .rkey = proof_.key};
}

Message WorkChain::RequestOf(const Op& op, uint32_t number) const {
  Message message = {.kind = Message::Kind::kAtomic,
                     .number = number,
                     .operation = op.kind,
                     .length = static_cast<uint8_t>(op.length),
                     .segment = static_cast<Segment::Kind>(op.region->key >> 32),
                     .offset = op.offset,
                     .operand = op.operand,
                     .compare = op.compare};
  if (IsSignal(op.ride)) {
    message.operation = op.ride == Ride::kSetSignal ? Op::Kind::kSet : Op::Kind::kFetchAdd;
    message.length = sizeof(uint64_t);
    message.wakes = true;
    message.offset = op.compare;
    message.compare = 0;
  }
  return message;
}

void WorkChain::Add(const Op& op, uint32_t number) {
  const uint32_t first = size_;
  AddUnfenced(op, number);
  if (op.fenced && !setup_.dialect.waits_to_fence) requests_[first].send_flags |= IBV_SEND_FENCE;
}

void WorkChain::AddUnfenced(const Op& op, uint32_t number) {
  const Remote remote = {op.region->base + op.offset, static_cast<uint32_t>(op.region->key)};
  const bool messages = setup_.dialect.messages;
  if (op.kind == Op::Kind::kGet) {
    // Of nothing: a request of this kind must name some memory on iWARP.
    if (op.length == 0 && setup_.dialect.proves) return AppendProof();
    return AddPlain(op);
  }
  if (op.kind != Op::Kind::kPut) {
    return messages ? AddMessage(RequestOf(op, number)) : AddPlain(op);
  }

  const bool counts = op.ride == Ride::kCounter;
  if (op.length > 0 || op.ride == Ride::kNone || !messages) AddPlain(op);
  if (messages) {
    if (op.ride != Ride::kNone) AddMessage(counts ? CountOf(op) : RequestOf(op, number));
    return;
  }
  if (counts) return Tell(CountOf(op), requests_[size_ - 1]);
  const Message wake = {.kind = Message::Kind::kWake};
  const Remote signal = {op.region->base + op.compare, remote.key};
  if (op.ride == Ride::kSetSignal) {
    AddWord(signal, op.operand);
    Tell(wake, requests_[size_ - 1]);
  } else if (op.ride == Ride::kAddSignal) {
    ibv_send_wr& add =
        Append(IBV_WR_ATOMIC_FETCH_AND_ADD, setup_.scratch.at, 8, setup_.scratch.key);
    add.wr.atomic = {
        .remote_addr = signal.at, .compare_add = op.operand, .swap = 0, .rkey = signal.key};
    AddMessage(wake);
  }
}

void WorkChain::AddMessage(const Message& message) {
  if (setup_.dialect.messages) {
    std::byte(&copy)[Message::kBytes] = copies_[size_];
    message.Encode(copy);
    Append(IBV_WR_SEND, copy, sizeof(copy), 0).send_flags = IBV_SEND_INLINE;  // Always fits.
    return;
  }
  ibv_send_wr& request = Append(IBV_WR_RDMA_WRITE_WITH_IMM, nullptr, 0, 0);
  request.imm_data = htonl(message.AsImmediate());
  request.wr.rdma = {};
  request.send_flags = IBV_SEND_INLINE;
}

void WorkChain::AddWord(const Remote& address, uint64_t word) {
  std::byte* const copy = copies_[size_];
  std::memcpy(copy, &word, sizeof(word));
  ibv_send_wr& request = Append(IBV_WR_RDMA_WRITE, copy, sizeof(word), 0);
  request.wr.rdma = {.remote_addr = address.at, .rkey = address.key};
  request.send_flags = IBV_SEND_INLINE;  // Eight bytes always fit.
}

bool WorkChain::Prove() {
  if (!setup_.dialect.proves || IsAnswered(requests_[size_ - 1].opcode)) return false;
  AppendProof();
  return true;
}

}  // namespace weft
