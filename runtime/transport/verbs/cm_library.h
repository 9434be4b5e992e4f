// The functions of librdmacm that Weft calls, in one table. It finds the way to an IP address
// (device, port, path) and carries a connection's first messages.
//
// Loaded when a rank first connects by it, as libibverbs is. The table is constant once
// loaded; any thread may use it.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_CM_LIBRARY_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_CM_LIBRARY_H_

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace weft {

struct CmLibrary {
  // Loads the machine's librdmacm, once. kNotFound: it has none.
  static absl::StatusOr<const CmLibrary*> Load();

  // As the manual pages have them; what returns an int returns -1 and sets errno.
  rdma_event_channel* (*create_event_channel)();
  void (*destroy_event_channel)(rdma_event_channel* channel);
  int (*get_cm_event)(rdma_event_channel* channel, rdma_cm_event** event);
  int (*ack_cm_event)(rdma_cm_event* event);

  int (*create_id)(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                   rdma_port_space space);
  int (*destroy_id)(rdma_cm_id* id);
  int (*bind_addr)(rdma_cm_id* id, sockaddr* address);
  int (*listen)(rdma_cm_id* id, int backlog);
  int (*resolve_addr)(rdma_cm_id* id, sockaddr* from, sockaddr* to, int timeout_ms);
  int (*resolve_route)(rdma_cm_id* id, int timeout_ms);
  int (*init_qp_attr)(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask);
  int (*connect)(rdma_cm_id* id, rdma_conn_param* parameters);
  int (*establish)(rdma_cm_id* id);
  int (*accept)(rdma_cm_id* id, rdma_conn_param* parameters);
  int (*reject)(rdma_cm_id* id, const void* data, uint8_t length);
};

using EventChannelHandle = std::unique_ptr<rdma_event_channel, void (*)(rdma_event_channel*)>;
// Destruction waits until events of the id that were taken are acknowledged; those that were
// not never come.
using CmIdHandle = std::unique_ptr<rdma_cm_id, int (*)(rdma_cm_id*)>;

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_CM_LIBRARY_H_
