#include "runtime/transport/verbs/work_chain.h"

#include <arpa/inet.h>

namespace weft {
namespace {

uint32_t OnWire(const Immediate& immediate) { return htonl(immediate.Encode()); }

}  // namespace

size_t WorkChain::RequestsOf(const Op& op) {
  switch (op.ride) {
    case Ride::kAddSignal:
      return kMostOfOne;
    case Ride::kSetSignal:
      return 2;
    case Ride::kCounter:
    case Ride::kNone:
      break;
  }
  return 1;
}

ibv_send_wr& WorkChain::Append(ibv_wr_opcode opcode, const void* at, uint64_t length,
                               uint32_t key) {
  ibv_send_wr& request = requests_[size_];
  ibv_sge& piece = pieces_[size_];
  request = {};
  request.wr_id = uint64_t{owner_} << 32 | static_cast<uint32_t>(first_ + size_);
  request.opcode = opcode;
  piece = {
      .addr = reinterpret_cast<uint64_t>(at), .length = static_cast<uint32_t>(length), .lkey = key};
  request.sg_list = &piece;
  request.num_sge = length > 0 ? 1 : 0;
  if (size_ > 0) requests_[size_ - 1].next = &request;
  ++size_;
  return request;
}

void WorkChain::Inline(ibv_send_wr& request) {
  if (request.num_sge == 0 || request.sg_list->length <= max_inline_) {
    request.send_flags |= IBV_SEND_INLINE;
  }
}

void WorkChain::Add(const Op& op) {
  const uint64_t remote = op.region->base + op.offset;
  const uint32_t key = static_cast<uint32_t>(op.region->key);
  const unsigned fence = op.fenced ? unsigned{IBV_SEND_FENCE} : 0;
  if (op.kind != Op::Kind::kPut) {
    const bool get = op.kind == Op::Kind::kGet;
    const bool swap = op.kind == Op::Kind::kCompareSwap;
    const bool wanted = get || op.local != nullptr;
    ibv_send_wr& request =
        Append(get    ? IBV_WR_RDMA_READ
               : swap ? IBV_WR_ATOMIC_CMP_AND_SWP
                      : IBV_WR_ATOMIC_FETCH_AND_ADD,
               wanted ? op.local : scratch_.at, op.length, wanted ? op.local_key : scratch_.key);
    request.send_flags = fence;
    if (get) {
      request.wr.rdma = {.remote_addr = remote, .rkey = key};
      return;
    }
    request.wr.atomic = {.remote_addr = remote,
                         .compare_add = swap                          ? op.compare
                                        : op.kind == Op::Kind::kFetch ? 0
                                                                      : op.operand,
                         .swap = op.operand,
                         .rkey = key};
    return;
  }

  const bool counts = op.ride == Ride::kCounter;
  ibv_send_wr& data = Append(counts ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, op.local,
                             op.length, op.local_key);
  data.send_flags = fence;
  data.wr.rdma = {.remote_addr = remote, .rkey = key};
  Inline(data);
  if (counts) {
    data.imm_data = OnWire({Immediate::Kind::kCount, static_cast<uint32_t>(op.operand)});
  }
  const uint64_t signal = op.region->base + op.compare;
  if (op.ride == Ride::kSetSignal) {
    AddWord(signal, key, op.operand);
    ibv_send_wr& word = requests_[size_ - 1];
    word.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    word.imm_data = OnWire({Immediate::Kind::kWake, 0});
  } else if (op.ride == Ride::kAddSignal) {
    ibv_send_wr& add = Append(IBV_WR_ATOMIC_FETCH_AND_ADD, scratch_.at, 8, scratch_.key);
    add.wr.atomic = {.remote_addr = signal, .compare_add = op.operand, .swap = 0, .rkey = key};
    AddImmediate({Immediate::Kind::kWake, 0});
  }
}

void WorkChain::AddImmediate(const Immediate& immediate) {
  ibv_send_wr& request = Append(IBV_WR_RDMA_WRITE_WITH_IMM, nullptr, 0, 0);
  request.imm_data = OnWire(immediate);
  Inline(request);
}

void WorkChain::AddWord(uint64_t address, uint32_t key, uint64_t word) {
  words_[size_] = word;
  ibv_send_wr& request = Append(IBV_WR_RDMA_WRITE, &words_[size_], sizeof(word), 0);
  request.wr.rdma = {.remote_addr = address, .rkey = key};
  request.send_flags = IBV_SEND_INLINE;  // Eight bytes always fit.
}

ibv_send_wr* WorkChain::Close() {
  requests_[size_ - 1].send_flags |= IBV_SEND_SIGNALED;
  return requests_;
}

}  // namespace weft
