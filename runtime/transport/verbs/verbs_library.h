// The functions of libibverbs that Weft calls, in one table.
//
// The library is loaded when a rank first asks for it: a program starts as fast,
// and on machines without it. Tests put functions of their own into a copy of the
// table, to cause what no soft device does on demand.
//
// The table is constant once loaded; any thread may use it.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_LIBRARY_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_LIBRARY_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace weft {

struct VerbsLibrary {
  // Loads the machine's libibverbs, once. kNotFound: it has none.
  static absl::StatusOr<const VerbsLibrary*> Load();

  // As the manual pages have them; what returns an int returns an errno value.
  ibv_device** (*get_device_list)(int* count);
  void (*free_device_list)(ibv_device** list);
  const char* (*get_device_name)(ibv_device* device);
  ibv_context* (*open_device)(ibv_device* device);
  int (*close_device)(ibv_context* context);
  int (*query_device)(ibv_context* context, ibv_device_attr* attributes);
  int (*query_port)(ibv_context* context, uint8_t port, ibv_port_attr* attributes);
  int (*query_gid)(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry,
                   uint32_t flags, size_t entry_size);
  int (*get_async_event)(ibv_context* context, ibv_async_event* event);  // -1: errno tells why.
  void (*ack_async_event)(ibv_async_event* event);

  ibv_pd* (*alloc_pd)(ibv_context* context);
  int (*dealloc_pd)(ibv_pd* domain);
  ibv_mr* (*reg_mr)(ibv_pd* domain, void* address, size_t length, int access);
  int (*dereg_mr)(ibv_mr* region);

  ibv_comp_channel* (*create_comp_channel)(ibv_context* context);
  int (*destroy_comp_channel)(ibv_comp_channel* channel);
  ibv_cq* (*create_cq)(ibv_context* context, int entries, void* user, ibv_comp_channel* channel,
                       int vector);
  int (*destroy_cq)(ibv_cq* queue);
  int (*get_cq_event)(ibv_comp_channel* channel, ibv_cq** queue, void** user);
  void (*ack_cq_events)(ibv_cq* queue, unsigned count);

  ibv_srq* (*create_srq)(ibv_pd* domain, ibv_srq_init_attr* attributes);
  int (*destroy_srq)(ibv_srq* queue);
  ibv_qp* (*create_qp)(ibv_pd* domain, ibv_qp_init_attr* attributes);
  int (*modify_qp)(ibv_qp* pair, ibv_qp_attr* attributes, int mask);
  int (*destroy_qp)(ibv_qp* pair);

  // The data path: the driver's own, by way of the queue's context.
  int (*post_send)(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** refused);
  int (*post_srq_recv)(ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr** refused);
  int (*poll_cq)(ibv_cq* queue, int count, ibv_wc* completions);
  int (*req_notify_cq)(ibv_cq* queue, int solicited_only);
};

// What is destroyed by itself. Members are declared so that a queue goes before the
// domain and the channel that it needs.
using ContextHandle = std::unique_ptr<ibv_context, int (*)(ibv_context*)>;
using DomainHandle = std::unique_ptr<ibv_pd, int (*)(ibv_pd*)>;
using RegionHandle = std::unique_ptr<ibv_mr, int (*)(ibv_mr*)>;
using ChannelHandle = std::unique_ptr<ibv_comp_channel, int (*)(ibv_comp_channel*)>;
using CompletionQueueHandle = std::unique_ptr<ibv_cq, int (*)(ibv_cq*)>;
using SharedReceiveQueueHandle = std::unique_ptr<ibv_srq, int (*)(ibv_srq*)>;
using QueuePairHandle = std::unique_ptr<ibv_qp, int (*)(ibv_qp*)>;

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_VERBS_LIBRARY_H_
