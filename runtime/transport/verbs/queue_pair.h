// A reliable connected queue pair: what RDMA has in the place of a socket.
//
// It is created (RESET), told its port and what peers may do (INIT), told where
// its peer is, after which it answers (ready to receive), and told how to repeat
// what gets lost, after which it may send (ready to send). Both ends must have
// made the third step before either sends. An error on either side ends it: all
// that is under way comes back as flushed, and a new pair must be made.
// docs/verbs.md tells the story.
//
// Used by one thread at a time.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_QUEUE_PAIR_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_QUEUE_PAIR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/transport/verbs/cm_library.h"
#include "runtime/transport/verbs/device.h"

namespace weft {

// Where a rank's port is, and what it can take: the same for all of its queue pairs.
struct RemotePort {
  bool ethernet = false;
  uint16_t lid = 0;
  ibv_gid gid = {};
  ibv_mtu mtu = IBV_MTU_256;
  uint8_t max_reads = 1;  // Reads and atomics that it answers at a time.
};

// One end of a connection: the queue pair's number, and that of its first packet.
struct PairEnd {
  uint32_t number = 0;
  uint32_t first_packet = 0;
};

// A random number for a first packet: 24 bits.
uint32_t RandomPacketNumber();

class QueuePair {
 public:
  struct Queues {
    ibv_cq* sent = nullptr;
    ibv_cq* received = nullptr;
    ibv_srq* receives = nullptr;
  };
  struct Size {
    uint32_t depth = 0;       // Work requests under way.
    uint32_t max_inline = 0;  // Bytes; the pair may grant more.
  };

  // Reads and atomics at a time: that it answers, and that it asks.
  struct Depths {
    uint8_t in = 1;
    uint8_t out = 1;
  };

  // None, as after Destroy.
  QueuePair() : device_(nullptr), pair_(nullptr, nullptr), max_inline_(0) {}
  // A pair that awaits its peer (INIT). The device and the queues must outlive it.
  static absl::StatusOr<QueuePair> Create(const VerbsDevice& device, const Queues& queues,
                                          const Size& size);

  uint32_t number() const { return pair_->qp_num; }
  uint32_t max_inline() const { return max_inline_; }
  ibv_qp* get() const { return pair_.get(); }

  // Connects to `end` at `port`, sending from packet number `first_packet` on: ready to
  // receive, then to send.
  absl::Status Connect(const RemotePort& port, const PairEnd& end, uint32_t first_packet);

  // Connects to the end that librdmacm has found, or that has asked, on `id`. For an iWARP device
  // that is no more than preparation: it is done by accepting, or by the answer.
  absl::Status ConnectThrough(const CmLibrary& cm, rdma_cm_id& id, const Depths& depths);

  // Nothing of what is under way is touched any more, though nothing tells of it either.
  void Destroy() { pair_.reset(); }

 private:
  QueuePair(const VerbsDevice& device, QueuePairHandle pair, uint32_t max_inline);

  absl::Status Initialize();
  absl::Status ReadyToReceive(const RemotePort& port, const PairEnd& end);
  absl::Status ReadyToSend(const RemotePort& port, uint32_t first_packet);
  // What librdmacm has for a step, and of that what the mask says.
  absl::Status Prepare(const CmLibrary& cm, rdma_cm_id& id, ibv_qp_state step,
                       ibv_qp_attr& attributes, int& mask) const;
  absl::Status Modify(ibv_qp_attr& attributes, int mask, const std::string& step);

  const VerbsDevice* device_;
  QueuePairHandle pair_;
  uint32_t max_inline_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_QUEUE_PAIR_H_
