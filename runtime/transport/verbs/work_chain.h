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

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "runtime/transport/transport.h"
#include "runtime/transport/verbs/dialect.h"
#include "runtime/transport/verbs/message.h"

namespace weft {

class WorkChain {
 public:
  // And one that proves.
  static constexpr size_t kMaxRequests = 48 + 1;

  // Registered memory: of this process, of a peer.
  struct Local {
    void* at = nullptr;
    uint32_t key = 0;
  };
  struct Remote {
    uint64_t at = 0;
    uint32_t key = 0;
  };

  struct Setup {
    // A completion tells `owner` in the upper half, and the request's position, which counts
    // up from `first`, in the lower.
    uint32_t owner = 0;
    uint32_t first = 0;
    uint32_t max_inline = 0;  // Puts of up to so many bytes are copied.
    Local scratch;            // A word for what nobody wants.
    Remote proof;             // A word of the peer's that may be read.
    Dialect dialect;
  };

  explicit WorkChain(const Setup& setup) : setup_(setup) {}
  WorkChain(const WorkChain&) = delete;
  WorkChain& operator=(const WorkChain&) = delete;

  // How many requests `op`, which can be carried out, takes.
  static size_t RequestsOf(const Op& op, const Dialect& dialect);

  // The last request of each carries its message, and `op.fenced` the first a fence. `number`:
  // that of the request to the agent, where it is one.
  void Add(const Op& op, uint32_t number = 0);
  // Nothing but that.
  void AddMessage(const Message& message);
  // One word to `address`, copied.
  void AddWord(const Remote& address, uint64_t word);

  size_t size() const { return size_; }
  // Whether not every operation fits any more.
  bool full() const { return size_ + kMostOfOne + 1 > kMaxRequests; }
  // Where the dialect asks for it, closes the chain with a request that the peer's device
  // answers, unless it ends in one; whether it added one.
  bool Prove();
  // Asks for the completion of the last. Not empty.
  ibv_send_wr* Close();

 private:
  static constexpr size_t kMostOfOne = 3;

  ibv_send_wr& Append(ibv_wr_opcode opcode, const void* at, uint64_t length, uint32_t key);
  void AppendProof();
  void Inline(ibv_send_wr& request);
  void AddUnfenced(const Op& op, uint32_t number);
  void AddAtomic(const Op& op);
  // The request to the agent: that atomic, or the signal of that put.
  Message RequestOf(const Op& op, uint32_t number) const;

  const Setup setup_;
  size_t size_ = 0;
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
