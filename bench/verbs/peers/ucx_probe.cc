// What raw_probe.cc measures, on UCX's protocol layer.
//   ucx_probe [--devices=rxe0,rxe1]
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "bench/verbs/peers/peer.h"
#include "bench/verbs/peers/start.h"
#include "bench/verbs/process_pair.h"

namespace weft::bench {
namespace {

// Ends the process unless the call succeeded.
void Check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  fprintf(stderr, "ucx_probe: no %s: %s\n", what, ucs_status_string(status));
  _exit(1);
}

using Bytes = std::vector<char>;

void Send(int socket, const void* data, size_t length) {
  const uint64_t size = length;
  Require(write(socket, &size, sizeof(size)) == sizeof(size) &&
              write(socket, data, length) == static_cast<ssize_t>(length),
          "message to the peer");
}

Bytes Receive(int socket) {
  uint64_t size = 0;
  Require(recv(socket, &size, sizeof(size), MSG_WAITALL) == sizeof(size), "message of the peer");
  Bytes data(size);
  Require(recv(socket, data.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size),
          "whole message of the peer");
  return data;
}

class UcxPeer : public Peer {
 public:
  explicit UcxPeer(int socket) : socket_(socket) {
    Open();
    Map();
    Connect();
  }
  void* memory() override { return memory_; }

  void PostPut(size_t offset, const void* from, size_t bytes) override {
    Post(ucp_put_nbx(endpoint_, from, bytes, far_ + offset, key_, &kPlain));
  }
  void PostGet(size_t offset, void* to, size_t bytes) override {
    Post(ucp_get_nbx(endpoint_, to, bytes, far_ + offset, key_, &kPlain));
  }
  void Flush() override { Await(ucp_ep_flush_nbx(endpoint_, &kPlain)); }
  void Get(size_t offset, void* to, size_t bytes) override {
    Await(ucp_get_nbx(endpoint_, to, bytes, far_ + offset, key_, &kPlain));
  }
  void FetchAdd(size_t offset, uint64_t operand) override {
    uint64_t before;
    Atomic(UCP_ATOMIC_OP_ADD, &operand, offset, &before);
  }
  void CompareSwap(size_t offset, uint64_t compare, uint64_t value) override {
    // The reply takes the place of the value.
    Atomic(UCP_ATOMIC_OP_CSWAP, &compare, offset, &value);
  }
  void Meet() override {
    const char here = 0;
    Require(write(socket_, &here, 1) == 1, "peer to meet");
    char there;
    ssize_t length;
    while ((length = recv(socket_, &there, 1, MSG_DONTWAIT)) == -1 && errno == EAGAIN) Progress();
    Require(length == 1, "peer that comes to meet");
  }

 private:
  static constexpr ucp_request_param_t kPlain = {};

  void Open() {
    ucp_params_t wanted = {};
    wanted.field_mask = UCP_PARAM_FIELD_FEATURES;
    wanted.features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
    Check(ucp_init(&wanted, nullptr, &context_), "context");
    ucp_worker_params_t single = {};
    single.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    single.thread_mode = UCS_THREAD_MODE_SINGLE;
    Check(ucp_worker_create(context_, &single, &worker_), "worker");
  }

  void Map() {
    memory_ = mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    Require(memory_ != MAP_FAILED, "memory");
    ucp_mem_map_params_t span = {};
    span.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    span.address = memory_;
    span.length = kMemoryBytes;
    Check(ucp_mem_map(context_, &span, &mapped_), "registered memory");
  }

  void Connect() {
    ucp_address_t* address = nullptr;
    size_t length = 0;
    Check(ucp_worker_get_address(worker_, &address, &length), "address");
    Send(socket_, address, length);
    ucp_worker_release_address(worker_, address);
    void* key = nullptr;
    Check(ucp_rkey_pack(context_, mapped_, &key, &length), "packed key");
    Send(socket_, key, length);
    ucp_rkey_buffer_release(key);
    Send(socket_, &memory_, sizeof(memory_));

    const Bytes to = Receive(socket_);
    ucp_ep_params_t wanted = {};
    wanted.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    wanted.address = reinterpret_cast<const ucp_address_t*>(to.data());
    Check(ucp_ep_create(worker_, &wanted, &endpoint_), "endpoint");
    Check(ucp_ep_rkey_unpack(endpoint_, Receive(socket_).data(), &key_), "key of the peer");
    far_ = *reinterpret_cast<const uint64_t*>(Receive(socket_).data());
  }

  void Atomic(ucp_atomic_op_t operation, const uint64_t* operand, size_t offset, uint64_t* reply) {
    ucp_request_param_t wanted = {};
    wanted.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    wanted.datatype = ucp_dt_make_contig(sizeof(uint64_t));
    wanted.reply_buffer = reply;
    Await(ucp_atomic_op_nbx(endpoint_, operation, operand, 1, far_ + offset, key_, &wanted));
  }

  // Leaves a request to the next Flush.
  static void Post(ucs_status_ptr_t request) {
    if (UCS_PTR_IS_PTR(request)) return ucp_request_free(request);
    Check(UCS_PTR_STATUS(request), "operation");
  }

  void Await(ucs_status_ptr_t request) {
    if (!UCS_PTR_IS_PTR(request)) return Check(UCS_PTR_STATUS(request), "operation");
    ucs_status_t status;
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) Progress();
    ucp_request_free(request);
    Check(status, "operation");
  }

  void Progress() {
    if (ucp_worker_progress(worker_) == 0) sched_yield();
  }

  const int socket_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  void* memory_ = nullptr;
  ucp_mem_h mapped_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  ucp_rkey_h key_ = nullptr;
  uint64_t far_ = 0;
};

int Run(int argc, char** argv) {
  const ProcessPair pair;
  UseDevice(argc, argv, pair.me());
  UcxPeer peer(pair.socket());
  Probe(pair.me(), Sampler(argc, argv), peer);
  if (pair.me() == 0) pair.AwaitSecond();
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::Run(argc, argv); }
