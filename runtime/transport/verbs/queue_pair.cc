#include "runtime/transport/verbs/queue_pair.h"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// A packet that is not acknowledged is sent again after T = 4.096 us * 2^kTimeout = 268 ms,
// kRetries times, and fails when another T has passed. So a link may be down for 6 T = 1.6 s
// without harm, and a host or a link that is lost is known after 7 T = 1.9 s. (The standard
// allows up to 4 T where it says T; devices are known to take 2 T, which makes it 3.8 s.)
// Not 7 retries: soft devices take that for ever.
constexpr uint8_t kTimeout = 16;
constexpr uint8_t kRetries = 6;
constexpr int64_t kRepeatNs = int64_t{4096} << kTimeout;
static_assert(kRepeatNs * kRetries > 1'000'000'000, "a link that is down for a second is survived");
static_assert(kRepeatNs * (kRetries + 1) < 3'000'000'000, "a lost node is known in 3 s");
// A peer that has no receive ready asks to be tried again after 0.64 ms. Credits see to
// it that it always has one; should one be missing, six attempts end in an error.
constexpr uint8_t kNotReadyTimer = 12;
constexpr uint8_t kNotReadyRetries = 6;

unsigned PeersMay(const VerbsDevice& device) {
  const unsigned moves = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  return device.iwarp() ? moves : moves | IBV_ACCESS_REMOTE_ATOMIC;
}

}  // namespace

uint32_t RandomPacketNumber() { return std::random_device()() & 0xffffff; }

QueuePair::QueuePair(const VerbsDevice& device, QueuePairHandle pair, uint32_t max_inline)
    : device_(&device), pair_(std::move(pair)), max_inline_(max_inline) {}

absl::StatusOr<QueuePair> QueuePair::Create(const VerbsDevice& device, const Queues& queues,
                                            const Size& size) {
  ibv_qp_init_attr attributes = {};
  attributes.send_cq = queues.sent;
  attributes.recv_cq = queues.received;
  attributes.srq = queues.receives;
  attributes.cap = {.max_send_wr = size.depth,
                    .max_recv_wr = 0,  // They are in the shared queue.
                    .max_send_sge = 1,
                    .max_recv_sge = 0,
                    .max_inline_data = size.max_inline};
  attributes.qp_type = IBV_QPT_RC;
  QueuePairHandle pair(device.library().create_qp(device.domain(), &attributes),
                       device.library().destroy_qp);
  if (pair == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot create a queue pair of depth ", size.depth, " on ", device.port().name(), ": ",
        strerror(errno), "; the device has ", device.limits().max_qp, " for all processes"));
  }
  QueuePair created(device, std::move(pair), attributes.cap.max_inline_data);
  if (absl::Status status = created.Initialize(); !status.ok()) return status;
  return created;
}

absl::Status QueuePair::Modify(ibv_qp_attr& attributes, int mask, const std::string& step) {
  const int error = device_->library().modify_qp(get(), &attributes, mask | IBV_QP_STATE);
  if (error == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "queue pair ", number(), " on ", device_->port().name(), " cannot be made ", step, ": ",
      strerror(error), "; is there a path between these two ports (rdma link, ip route get)?"));
}

absl::Status QueuePair::Initialize() {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = device_->port().number;
  attributes.qp_access_flags = PeersMay(*device_);
  return Modify(attributes, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                "ready to connect");
}

absl::Status QueuePair::ReadyToReceive(const RemotePort& port, const PairEnd& end) {
  const VerbsPort& mine = device_->port();
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = std::min(mine.mtu, port.mtu);
  attributes.dest_qp_num = end.number;
  attributes.rq_psn = end.first_packet;
  attributes.max_dest_rd_atomic =
      static_cast<uint8_t>(std::min(device_->limits().max_qp_rd_atom, UINT8_MAX));
  attributes.min_rnr_timer = kNotReadyTimer;
  attributes.ah_attr.port_num = mine.number;
  std::string peer;
  if (mine.ethernet) {
    const absl::StatusOr<uint8_t> gid_index = device_->GidIndex();
    if (!gid_index.ok()) return gid_index.status();
    peer = FormatGid(port.gid);
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.grh.dgid = port.gid;
    attributes.ah_attr.grh.sgid_index = *gid_index;
    attributes.ah_attr.grh.hop_limit = 64;
  } else {
    peer = absl::StrCat("LID ", port.lid);
    attributes.ah_attr.dlid = port.lid;
  }
  return Modify(attributes,
                IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                absl::StrCat("ready to receive from ", peer));
}

absl::Status QueuePair::ReadyToSend(const RemotePort& port, uint32_t first_packet) {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = kTimeout;
  attributes.retry_cnt = kRetries;
  attributes.rnr_retry = kNotReadyRetries;
  attributes.sq_psn = first_packet;
  attributes.max_rd_atomic = static_cast<uint8_t>(
      std::clamp<int>(device_->limits().max_qp_init_rd_atom, 1, port.max_reads));
  return Modify(attributes,
                IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                    IBV_QP_MAX_QP_RD_ATOMIC,
                "ready to send");
}

absl::Status QueuePair::Prepare(const CmLibrary& cm, rdma_cm_id& id, ibv_qp_state step,
                                ibv_qp_attr& attributes, int& mask) const {
  // Above are bits that some kernels let out, though they are their own.
  constexpr int kKnown = (IBV_QP_DEST_QPN << 1) - 1;
  attributes = {};
  attributes.qp_state = step;
  if (cm.init_qp_attr(&id, &attributes, &mask) != 0) {
    return absl::UnavailableError(absl::StrCat("the connection through ", device_->port().name(),
                                               " is gone: ", strerror(errno)));
  }
  mask &= kKnown;
  return absl::OkStatus();
}

absl::Status QueuePair::ConnectThrough(const CmLibrary& cm, rdma_cm_id& id, const Depths& depths) {
  ibv_qp_attr attributes;
  int mask = 0;
  // The partition may be another than the first.
  absl::Status status = Prepare(cm, id, IBV_QPS_INIT, attributes, mask);
  attributes.qp_access_flags = PeersMay(*device_);
  if (status.ok()) status = Modify(attributes, mask, "ready to connect");
  if (!status.ok() || device_->iwarp()) return status;

  status = Prepare(cm, id, IBV_QPS_RTR, attributes, mask);
  attributes.max_dest_rd_atomic = depths.in;
  attributes.min_rnr_timer = kNotReadyTimer;  // librdmacm's 0 stands for 655 ms.
  if (status.ok()) status = Modify(attributes, mask, "ready to receive");
  if (!status.ok()) return status;

  status = Prepare(cm, id, IBV_QPS_RTS, attributes, mask);
  attributes.timeout = kTimeout;
  attributes.retry_cnt = kRetries;
  attributes.rnr_retry = kNotReadyRetries;
  attributes.max_rd_atomic = depths.out;
  return status.ok() ? Modify(attributes, mask, "ready to send") : status;
}

absl::Status QueuePair::Connect(const RemotePort& port, const PairEnd& end, uint32_t first_packet) {
  if (port.ethernet != device_->port().ethernet) {
    return absl::FailedPreconditionError(
        absl::StrCat(device_->port().name(), " is on ", port.ethernet ? "InfiniBand" : "Ethernet",
                     ", the peer's port on ", port.ethernet ? "Ethernet" : "InfiniBand",
                     ": choose ports of one fabric by WEFT_VERBS_DEVICE"));
  }
  if (absl::Status status = ReadyToReceive(port, end); !status.ok()) return status;
  return ReadyToSend(port, first_packet);
}

}  // namespace weft
