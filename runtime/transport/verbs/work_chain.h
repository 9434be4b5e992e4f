// A chain of work requests, to be posted with one doorbell: how operations are
// said in verbs.
//
//   put, get            RDMA WRITE, RDMA READ
//   fetch-add, fetch    FETCH_AND_ADD; fetch adds 0
//   compare-swap        CMP_AND_SWP
//   put + notification  RDMA WRITE with immediate, the counter's id in it
//   put + set signal    WRITE, then WRITE of the word with an immediate that wakes
//   put + add signal    WRITE, FETCH_AND_ADD, then an empty WRITE with that immediate
//
// and in the dialect of messages:
//
//   any atomic          SEND of a request
//   put + notification  WRITE, SEND
//   put + signal        WRITE, SEND of a request
//
// A queue pair's requests take effect at the target in their order, so the data is
// there before what tells of it. Made on the stack for one Post; not copied, since
// requests point at each other.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_WORK_CHAIN_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_WORK_CHAIN_H_

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "runtime/transport/transport.h"
#include "runtime/transport/verbs/dialect.h"
#include "runtime/transport/verbs/message.h"

namespace weft {

class WorkChain {
 public:
  // An operation takes so many at most.
  static constexpr uint32_t kMostOfOne = 3;
  // And one that proves.
  static constexpr uint32_t kMaxRequests = 48 + 1;
  // Of one request each: so many fit, and one of any kind behind them.
  static constexpr uint32_t kMaxPlain = kMaxRequests - 1 - kMostOfOne;

  // Registered memory: of this process, of a peer.
  struct Local {
    void* at = nullptr;
    uint32_t key = 0;
  };
  struct Remote {
    uint64_t at = 0;
    uint32_t key = 0;
  };

  // What all chains of a transport have in common.
  struct Setup {
    uint32_t max_inline = 0;  // Puts of up to so many bytes are copied.
    Local scratch;            // A word for what nobody wants.
    Dialect dialect;
  };

  // `first`: the id of the first request. Its lower half counts up with them, and wraps. `proof`: a
  // word of the peer's that may be read. Refers to `setup` and `proof`.
  WorkChain(const Setup& setup, uint64_t first, const Remote& proof)
      : setup_(setup),
        proof_(proof),
        owner_(first >> 32 << 32),
        position_(static_cast<uint32_t>(first)) {}
  WorkChain(const WorkChain&) = delete;
  WorkChain& operator=(const WorkChain&) = delete;

  // How many requests `op`, which can be carried out, takes.
  static uint32_t RequestsOf(const Op& op, const Dialect& dialect) {
    if (op.ride == Ride::kNone) return 1;
    if (dialect.messages) return op.length == 0 ? 1 : 2;
    return op.ride == Ride::kCounter ? 1 : op.ride == Ride::kSetSignal ? 2 : kMostOfOne;
  }

  // The last request of each carries its message, and `op.fenced` the first a fence. `number`:
  // that of the request to the agent, where it is one.
  void Add(const Op& op, uint32_t number = 0);
  // Likewise, of one that is one request, and neither fenced nor tells of itself; the dialect
  // does not prove.
  void AddPlain(const Op& op) {
    MakePlain(setup_, op, owner_ | position_++, requests_[size_], pieces_[size_]);
    ++size_;
  }
  // That request, alone. Devices read of the rest only what the kind of request has.
  static void MakePlain(const Setup& setup, const Op& op, uint64_t id, ibv_send_wr& request,
                        ibv_sge& piece) {
    if (op.kind != Op::Kind::kPut && op.kind != Op::Kind::kGet) [[unlikely]] {
      return MakeAtomic(setup, op, id, request, piece);
    }
    Make(id, IBV_WR_RDMA_READ, op.local, op.length, op.local_key, request, piece);
    request.wr.rdma.remote_addr = op.region->base + op.offset;
    request.wr.rdma.rkey = static_cast<uint32_t>(op.region->key);
    if (op.kind == Op::Kind::kPut) [[likely]] {
      request.opcode = IBV_WR_RDMA_WRITE;
      if (op.length <= setup.max_inline) request.send_flags = IBV_SEND_INLINE;
    }
  }
  // What tells of an operation with a counter's ride.
  static Message CountOf(const Op& op) {
    return {.kind = Message::Kind::kCount, .number = static_cast<uint32_t>(op.operand)};
  }
  // Lets a WRITE carry that as an immediate.
  static void Tell(const Message& message, ibv_send_wr& request) {
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.imm_data = htonl(message.AsImmediate());
  }
  // Nothing but that.
  void AddMessage(const Message& message);
  // One word to `address`, copied.
  void AddWord(const Remote& address, uint64_t word);

  uint32_t size() const { return size_; }
  // Whether not every operation fits any more.
  bool full() const { return size_ > kMaxPlain; }
  // Where the dialect asks for it, closes the chain with a request that the peer's device
  // answers, unless it ends in one; whether it added one.
  bool Prove();
  // Asks for the completion of the last. Not empty.
  ibv_send_wr* Close() {
    requests_[size_ - 1].send_flags |= IBV_SEND_SIGNALED;
    requests_[size_ - 1].next = nullptr;
    return requests_;
  }

 private:
  // The request is linked to the one behind it.
  static void Make(uint64_t id, ibv_wr_opcode opcode, const void* at, uint64_t length, uint32_t key,
                   ibv_send_wr& request, ibv_sge& piece) {
    request.wr_id = id;
    request.next = &request + 1;
    request.sg_list = &piece;
    request.num_sge = length > 0 ? 1 : 0;
    request.opcode = opcode;
    request.send_flags = 0;
    piece.addr = reinterpret_cast<uint64_t>(at);
    piece.length = static_cast<uint32_t>(length);
    piece.lkey = key;
  }
  static void MakeAtomic(const Setup& setup, const Op& op, uint64_t id, ibv_send_wr& request,
                         ibv_sge& piece) {
    const bool wanted = op.local != nullptr;
    Make(id, IBV_WR_ATOMIC_FETCH_AND_ADD, wanted ? op.local : setup.scratch.at, op.length,
         wanted ? op.local_key : setup.scratch.key, request, piece);
    request.wr.atomic.remote_addr = op.region->base + op.offset;
    request.wr.atomic.rkey = static_cast<uint32_t>(op.region->key);
    request.wr.atomic.compare_add = op.operand;
    if (op.kind == Op::Kind::kFetch) {
      request.wr.atomic.compare_add = 0;
    } else if (op.kind == Op::Kind::kCompareSwap) {
      request.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
      request.wr.atomic.compare_add = op.compare;
      request.wr.atomic.swap = op.operand;
    }
  }
  ibv_send_wr& Append(ibv_wr_opcode opcode, const void* at, uint64_t length, uint32_t key) {
    ibv_send_wr& request = requests_[size_];
    Make(owner_ | position_++, opcode, at, length, key, request, pieces_[size_]);
    ++size_;
    return request;
  }
  void AppendProof();
  void AddUnfenced(const Op& op, uint32_t number);
  // The request to the agent: that atomic, or the signal of that put.
  Message RequestOf(const Op& op, uint32_t number) const;

  const Setup& setup_;
  const Remote& proof_;
  const uint64_t owner_;
  uint32_t position_;  // Of the next.
  uint32_t size_ = 0;
  ibv_send_wr requests_[kMaxRequests];
  ibv_sge pieces_[kMaxRequests];
  std::byte copies_[kMaxRequests][Message::kBytes];  // Of what is nobody's memory.
};

// What RemoteRegion::key holds: the remote key, and which segment it is.
constexpr uint64_t RegionKey(uint32_t key, Segment::Kind segment) {
  return uint64_t{static_cast<uint8_t>(segment)} << 32 | key;
}

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_WORK_CHAIN_H_
