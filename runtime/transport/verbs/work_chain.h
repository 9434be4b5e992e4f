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
// A queue pair's requests take effect at the target in their order, so the data is
// there before what tells of it. Made on the stack for one Post; not copied, since
// requests point at each other.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_WORK_CHAIN_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_WORK_CHAIN_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "runtime/transport/transport.h"

namespace weft {

// What the 32 bits of an immediate tell the target.
struct Immediate {
  enum class Kind : uint32_t {
    kCount,       // Add 1 to notification counter `value`.
    kWake,        // A signal was written: wake who waits.
    kAskBulk,     // The bulk lane's queue pair is another now, number `value`: connect to it.
    kAnswerBulk,  // So it is here, and connected: number `value`.
  };

  Kind kind;
  uint32_t value;

  uint32_t Encode() const { return static_cast<uint32_t>(kind) << 28 | (value & 0xfffffff); }
  static Immediate Decode(uint32_t bits) {
    return {static_cast<Kind>(bits >> 28), bits & 0xfffffff};
  }
};

class WorkChain {
 public:
  static constexpr size_t kMaxRequests = 48;

  // Registered memory of this process.
  struct Local {
    void* at = nullptr;
    uint32_t key = 0;
  };

  // A completion tells `owner` in the upper half, and the request's position, which counts
  // up from `first`, in the lower. `scratch`: a word for the old values that nobody wants.
  // Puts of up to `max_inline` bytes are copied.
  WorkChain(uint32_t owner, uint32_t first, uint32_t max_inline, const Local& scratch)
      : owner_(owner), first_(first), max_inline_(max_inline), scratch_(scratch) {}
  WorkChain(const WorkChain&) = delete;
  WorkChain& operator=(const WorkChain&) = delete;

  // How many requests `op`, which the device can carry out, takes.
  static size_t RequestsOf(const Op& op);

  // The last request of each carries its immediate, and `op.fenced` the first a fence.
  void Add(const Op& op);
  // An empty WRITE with an immediate.
  void AddImmediate(const Immediate& immediate);
  // One word to `address`, copied.
  void AddWord(uint64_t address, uint32_t key, uint64_t word);

  size_t size() const { return size_; }
  // Whether not every operation fits any more.
  bool full() const { return size_ + kMostOfOne > kMaxRequests; }
  // Asks for the completion of the last. Not empty.
  ibv_send_wr* Close();

 private:
  static constexpr size_t kMostOfOne = 3;

  ibv_send_wr& Append(ibv_wr_opcode opcode, const void* at, uint64_t length, uint32_t key);
  void Inline(ibv_send_wr& request);

  const uint32_t owner_;
  const uint32_t first_;
  const uint32_t max_inline_;
  const Local scratch_;
  size_t size_ = 0;
  ibv_send_wr requests_[kMaxRequests];
  ibv_sge pieces_[kMaxRequests];
  uint64_t words_[kMaxRequests];  // What is copied and is nobody's memory.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_WORK_CHAIN_H_
