#include "runtime/transport/verbs/verbs_library.h"

#include <string.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/transport/verbs/symbols.h"

namespace weft {
namespace {

constexpr char kName[] = "libibverbs.so.1";

absl::StatusOr<VerbsLibrary> LoadTable() {
  Symbols symbols(kName, "no RDMA");
  if (absl::Status opened = symbols.Opened("libibverbs1 and ibverbs-providers"); !opened.ok())
    return opened;
  VerbsLibrary table = {};
  symbols.Find("ibv_get_device_list", table.get_device_list);
  symbols.Find("ibv_free_device_list", table.free_device_list);
  symbols.Find("ibv_get_device_name", table.get_device_name);
  symbols.Find("ibv_open_device", table.open_device);
  symbols.Find("ibv_close_device", table.close_device);
  symbols.Find("ibv_query_device", table.query_device);
  symbols.Find("ibv_query_port", table.query_port);
  symbols.Find("_ibv_query_gid_ex", table.query_gid);
  symbols.Find("ibv_get_async_event", table.get_async_event);
  symbols.Find("ibv_ack_async_event", table.ack_async_event);
  symbols.Find("ibv_alloc_pd", table.alloc_pd);
  symbols.Find("ibv_dealloc_pd", table.dealloc_pd);
  symbols.Find("ibv_reg_mr", table.reg_mr);
  symbols.Find("ibv_dereg_mr", table.dereg_mr);
  symbols.Find("ibv_create_comp_channel", table.create_comp_channel);
  symbols.Find("ibv_destroy_comp_channel", table.destroy_comp_channel);
  symbols.Find("ibv_create_cq", table.create_cq);
  symbols.Find("ibv_destroy_cq", table.destroy_cq);
  symbols.Find("ibv_get_cq_event", table.get_cq_event);
  symbols.Find("ibv_ack_cq_events", table.ack_cq_events);
  symbols.Find("ibv_create_srq", table.create_srq);
  symbols.Find("ibv_destroy_srq", table.destroy_srq);
  symbols.Find("ibv_create_qp", table.create_qp);
  symbols.Find("ibv_modify_qp", table.modify_qp);
  symbols.Find("ibv_destroy_qp", table.destroy_qp);
  ibv_fork_status (*is_fork_initialized)() = nullptr;
  int (*fork_init)() = nullptr;
  symbols.Find("ibv_is_fork_initialized", is_fork_initialized);
  symbols.Find("ibv_fork_init", fork_init);
  if (absl::Status found = symbols.Found(); !found.ok()) return found;
  // Kernels before 5.12 share pinned pages with a forked child, and who writes first moves to
  // a copy that the device does not know.
  if (is_fork_initialized() == IBV_FORK_DISABLED) {
    if (const int error = fork_init(); error != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("no RDMA that a fork does not break: ibv_fork_init: ", strerror(error),
                       "; this kernel needs it, before the program's own first use of verbs: "
                       "join before that, or run on Linux 5.12 or later"));
    }
  }
  table.post_send = [](ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** refused) {
    return pair->context->ops.post_send(pair, first, refused);
  };
  table.post_srq_recv = [](ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr** refused) {
    return queue->context->ops.post_srq_recv(queue, first, refused);
  };
  table.poll_cq = [](ibv_cq* queue, int count, ibv_wc* completions) {
    return queue->context->ops.poll_cq(queue, count, completions);
  };
  table.req_notify_cq = [](ibv_cq* queue, int solicited_only) {
    return queue->context->ops.req_notify_cq(queue, solicited_only);
  };
  return table;
}

}  // namespace

absl::StatusOr<const VerbsLibrary*> VerbsLibrary::Load() {
  static const auto* const table = new absl::StatusOr<VerbsLibrary>(LoadTable());
  if (!table->ok()) return table->status();
  return &**table;
}

}  // namespace weft
