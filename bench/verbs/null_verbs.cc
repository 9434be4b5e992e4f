// A libibverbs.so.1 whose one device does nothing and is done at once, so that what is
// counted above it is Weft's. Chosen by LD_LIBRARY_PATH.
//
// Not thread-safe beyond what Weft's lock sees to.
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

ibv_device device = {};
ibv_device* devices[] = {&device, nullptr};

struct NullQueue {
  ibv_cq cq = {};
  std::vector<uint64_t> ring;
  size_t head = 0;
  size_t tail = 0;
};

NullQueue& QueueOf(ibv_cq* cq) { return *reinterpret_cast<NullQueue*>(cq); }

int PostSend(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr**) {
  NullQueue& queue = QueueOf(pair->send_cq);
  for (const ibv_send_wr* request = first; request != nullptr; request = request->next) {
    if ((request->send_flags & IBV_SEND_SIGNALED) != 0) {
      queue.ring[queue.tail++ % queue.ring.size()] = request->wr_id;
    }
  }
  return 0;
}

int PollQueue(ibv_cq* cq, int count, ibv_wc* completions) {
  NullQueue& queue = QueueOf(cq);
  int n = 0;
  for (; n < count && queue.head != queue.tail; ++n) {
    completions[n] = {};
    completions[n].wr_id = queue.ring[queue.head++ % queue.ring.size()];
  }
  return n;
}

template <typename T>
int Delete(T* object) {
  delete object;
  return 0;
}

uint32_t numbers = 0;

}  // namespace

// Where the header has a macro or an inline function of the same name.
#undef ibv_query_port
#undef ibv_reg_mr

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  *count = 1;
  return devices;
}
void ibv_free_device_list(ibv_device**) {}
const char* ibv_get_device_name(ibv_device*) { return "null0"; }
ibv_context* ibv_open_device(ibv_device*) {
  auto* const context = new ibv_context{};
  context->device = &device;
  context->async_fd = -1;  // Nothing to wait for.
  context->ops.post_send = PostSend;
  context->ops.poll_cq = PollQueue;
  context->ops.post_srq_recv = [](ibv_srq*, ibv_recv_wr*, ibv_recv_wr**) { return 0; };
  context->ops.req_notify_cq = [](ibv_cq*, int) { return 0; };
  return context;
}
int ibv_close_device(ibv_context* context) { return Delete(context); }

int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
  *attributes = {};
  attributes->phys_port_cnt = 1;
  attributes->max_qp = attributes->max_cqe = attributes->max_srq_wr = 1 << 16;
  attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = 16;
  attributes->atomic_cap = IBV_ATOMIC_HCA;
  return 0;
}
int ibv_query_port(ibv_context*, uint8_t, _compat_ibv_port_attr* compatible) {
  auto* const attributes = reinterpret_cast<ibv_port_attr*>(compatible);
  attributes->state = IBV_PORT_ACTIVE;
  attributes->active_mtu = IBV_MTU_4096;
  attributes->max_msg_sz = 1U << 30;
  attributes->lid = 1;
  return 0;
}
int _ibv_query_gid_ex(ibv_context*, uint32_t, uint32_t, ibv_gid_entry*, uint32_t, size_t) {
  return -1;  // It has a LID.
}

int ibv_get_async_event(ibv_context*, ibv_async_event*) {
  errno = EAGAIN;
  return -1;
}
void ibv_ack_async_event(ibv_async_event*) {}
ibv_fork_status ibv_is_fork_initialized() { return IBV_FORK_UNNEEDED; }
int ibv_fork_init() { return 0; }

ibv_pd* ibv_alloc_pd(ibv_context* context) { return new ibv_pd{.context = context, .handle = 0}; }
int ibv_dealloc_pd(ibv_pd* domain) { return Delete(domain); }
ibv_mr* ibv_reg_mr(ibv_pd*, void*, size_t, int) { return new ibv_mr{}; }
int ibv_dereg_mr(ibv_mr* region) { return Delete(region); }

ibv_comp_channel* ibv_create_comp_channel(ibv_context*) {
  int ends[2];
  if (pipe(ends) != 0) return nullptr;
  auto* const channel = new ibv_comp_channel{};
  channel->fd = ends[0];
  channel->refcnt = ends[1];
  return channel;
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  close(channel->fd);
  close(channel->refcnt);
  return Delete(channel);
}
ibv_cq* ibv_create_cq(ibv_context* context, int entries, void*, ibv_comp_channel*, int) {
  auto* const queue = new NullQueue;
  queue->cq.context = context;
  queue->ring.resize(static_cast<size_t>(entries));
  return &queue->cq;
}
int ibv_destroy_cq(ibv_cq* queue) { return Delete(&QueueOf(queue)); }
int ibv_get_cq_event(ibv_comp_channel*, ibv_cq**, void**) { return -1; }
void ibv_ack_cq_events(ibv_cq*, unsigned) {}

ibv_srq* ibv_create_srq(ibv_pd* domain, ibv_srq_init_attr*) {
  auto* const queue = new ibv_srq{};
  queue->context = domain->context;
  return queue;
}
int ibv_destroy_srq(ibv_srq* queue) { return Delete(queue); }
ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  auto* const pair = new ibv_qp{};
  pair->context = domain->context;
  pair->send_cq = attributes->send_cq;
  pair->qp_num = ++numbers;
  return pair;
}
int ibv_modify_qp(ibv_qp*, ibv_qp_attr*, int) { return 0; }
int ibv_destroy_qp(ibv_qp* pair) { return Delete(pair); }

}  // extern "C"
