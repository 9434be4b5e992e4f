#include "bench/verbs/raw_pair.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "bench/verbs/process_pair.h"

namespace weft::bench {
namespace {

// What the ends tell each other.
struct Card {
  uint32_t pair;
  uint32_t key;
  uint64_t base;
  uint16_t lid;
  ibv_gid gid;
};

// The port's GID of RoCE v2 on IPv4, else of RoCE v2, else any.
ibv_gid_entry FindGid(ibv_context* context, uint8_t port, int table_length) {
  ibv_gid_entry best = {};
  int best_rank = 0;
  for (int i = 0; i < table_length; ++i) {
    ibv_gid_entry entry;
    if (ibv_query_gid_ex(context, port, static_cast<uint32_t>(i), &entry, 0) != 0) continue;
    const bool v2 = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
    const bool v4 = entry.gid.raw[10] == 0xff && entry.gid.raw[11] == 0xff && entry.gid.raw[0] == 0;
    const int rank = 1 + v2 + (v2 && v4);
    if (rank > best_rank) best = entry;
    best_rank = std::max(best_rank, rank);
  }
  Require(best_rank > 0, "a GID of the port");
  return best;
}

bool IsActive(ibv_context* context, uint8_t port) {
  ibv_port_attr attributes = {};
  return ibv_query_port(context, port, &attributes) == 0 && attributes.state == IBV_PORT_ACTIVE;
}

ibv_context* Open(const std::string& wanted, uint8_t port) {
  int count = 0;
  ibv_device** const devices = ibv_get_device_list(&count);
  Require(devices != nullptr, "the list of devices");
  ibv_context* found = nullptr;
  for (int i = 0; i < count && found == nullptr; ++i) {
    if (!wanted.empty() && wanted != ibv_get_device_name(devices[i])) continue;
    ibv_context* const context = ibv_open_device(devices[i]);
    if (context == nullptr) continue;
    if (IsActive(context, port)) {
      found = context;
    } else {
      ibv_close_device(context);
    }
  }
  ibv_free_device_list(devices);
  Require(found != nullptr, "a device with an active port");
  return found;
}

}  // namespace

RawPair::RawPair(const std::string& device, std::span<std::byte> memory, int socket)
    : memory_(memory) {
  const size_t colon = device.find(':');
  if (colon != std::string::npos) port_ = static_cast<uint8_t>(atoi(&device[colon + 1]));
  context_ = Open(device.substr(0, colon), port_);
  domain_ = ibv_alloc_pd(context_);
  Require(domain_ != nullptr, "protection domain");
  region_ = ibv_reg_mr(domain_, memory.data(), memory.size(),
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_ATOMIC);
  Require(region_ != nullptr, "registered memory");
  sent_ = ibv_create_cq(context_, kDepth, nullptr, nullptr, 0);
  received_ = ibv_create_cq(context_, kDepth, nullptr, nullptr, 0);
  Require(sent_ != nullptr && received_ != nullptr, "completion queue");
  ibv_qp_init_attr attributes = {};
  attributes.send_cq = sent_;
  attributes.recv_cq = received_;
  attributes.cap = {.max_send_wr = kDepth,
                    .max_recv_wr = kReceives,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = kInline};
  attributes.qp_type = IBV_QPT_RC;
  pair_ = ibv_create_qp(domain_, &attributes);
  Require(pair_ != nullptr, "queue pair");
  Connect(socket);
}

void RawPair::Connect(int socket) {
  ibv_port_attr port = {};
  Require(ibv_query_port(context_, port_, &port) == 0, "port");
  const bool ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
  const ibv_gid_entry gid = ethernet ? FindGid(context_, port_, port.gid_tbl_len) : ibv_gid_entry{};
  const Card mine = {.pair = pair_->qp_num,
                     .key = region_->rkey,
                     .base = reinterpret_cast<uint64_t>(memory_.data()),
                     .lid = port.lid,
                     .gid = gid.gid};
  Card peer;
  Require(write(socket, &mine, sizeof(mine)) == sizeof(mine) &&
              read(socket, &peer, sizeof(peer)) == sizeof(peer),
          "card of the peer");
  peer_base_ = peer.base;
  peer_key_ = peer.key;

  ibv_device_attr device = {};
  Require(ibv_query_device(context_, &device) == 0, "device");
  ibv_qp_attr a = {};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = port_;
  a.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                      IBV_ACCESS_REMOTE_ATOMIC;
  Require(ibv_modify_qp(pair_, &a,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
          "queue pair in INIT");
  a = {};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = port.active_mtu;
  a.dest_qp_num = peer.pair;
  a.max_dest_rd_atomic = static_cast<uint8_t>(std::min(device.max_qp_rd_atom, UINT8_MAX));
  a.min_rnr_timer = 12;
  a.ah_attr.port_num = port_;
  a.ah_attr.is_global = ethernet;
  a.ah_attr.grh.dgid = peer.gid;
  a.ah_attr.grh.sgid_index = static_cast<uint8_t>(gid.gid_index);
  a.ah_attr.grh.hop_limit = 64;
  a.ah_attr.dlid = peer.lid;
  Require(ibv_modify_qp(pair_, &a,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "queue pair ready to receive");
  a = {};
  a.qp_state = IBV_QPS_RTS;
  a.timeout = 15;
  a.retry_cnt = 6;
  a.rnr_retry = 6;
  a.max_rd_atomic = static_cast<uint8_t>(std::min(device.max_qp_init_rd_atom, UINT8_MAX));
  Require(ibv_modify_qp(pair_, &a,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
          "queue pair ready to send");
  for (uint32_t i = 0; i < kReceives; ++i) PostReceive();
  // Neither sends before the other can receive.
  char ready = 0;
  Require(write(socket, &ready, 1) == 1 && read(socket, &ready, 1) == 1, "peer that is ready");
}

void RawPair::Post(const Request& request) {
  ibv_sge piece = {.addr = reinterpret_cast<uint64_t>(memory_.data()) + request.offset,
                   .length = static_cast<uint32_t>(request.length),
                   .lkey = region_->lkey};
  ibv_send_wr work = {};
  work.sg_list = &piece;
  work.num_sge = 1;
  work.opcode = request.opcode;
  work.send_flags = request.flags;
  const uint64_t remote = peer_base_ + request.offset;
  if (request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
      request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
    const bool add = request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    work.wr.atomic = {.remote_addr = remote,
                      .compare_add = add ? request.operand : request.compare,
                      .swap = request.operand,
                      .rkey = peer_key_};
  } else {
    work.wr.rdma = {.remote_addr = remote, .rkey = peer_key_};
  }
  ibv_send_wr* refused = nullptr;
  Require(ibv_post_send(pair_, &work, &refused) == 0, "room to send");
}

void RawPair::Await(ibv_cq* queue, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    ibv_wc completion;
    int n;
    while ((n = ibv_poll_cq(queue, 1, &completion)) == 0) sched_yield();
    Require(n == 1 && completion.status == IBV_WC_SUCCESS, "successful completion");
  }
}

void RawPair::PostReceive() {
  ibv_recv_wr work = {};
  ibv_recv_wr* refused = nullptr;
  Require(ibv_post_recv(pair_, &work, &refused) == 0, "room to receive");
}

void RawPair::AwaitArrival() {
  Await(received_, 1);
  PostReceive();
}

}  // namespace weft::bench
