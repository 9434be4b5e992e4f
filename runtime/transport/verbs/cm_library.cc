#include "runtime/transport/verbs/cm_library.h"

#include "absl/status/status.h"
#include "runtime/transport/verbs/symbols.h"

namespace weft {
namespace {

constexpr char kName[] = "librdmacm.so.1";

absl::StatusOr<CmLibrary> LoadTable() {
  Symbols symbols(kName, "no connecting by librdmacm");
  if (absl::Status opened = symbols.Opened("librdmacm1"); !opened.ok()) return opened;
  CmLibrary table = {};
  symbols.Find("rdma_create_event_channel", table.create_event_channel);
  symbols.Find("rdma_destroy_event_channel", table.destroy_event_channel);
  symbols.Find("rdma_get_cm_event", table.get_cm_event);
  symbols.Find("rdma_ack_cm_event", table.ack_cm_event);
  symbols.Find("rdma_create_id", table.create_id);
  symbols.Find("rdma_destroy_id", table.destroy_id);
  symbols.Find("rdma_bind_addr", table.bind_addr);
  symbols.Find("rdma_listen", table.listen);
  symbols.Find("rdma_resolve_addr", table.resolve_addr);
  symbols.Find("rdma_resolve_route", table.resolve_route);
  symbols.Find("rdma_init_qp_attr", table.init_qp_attr);
  symbols.Find("rdma_connect", table.connect);
  symbols.Find("rdma_establish", table.establish);
  symbols.Find("rdma_accept", table.accept);
  symbols.Find("rdma_reject", table.reject);
  if (absl::Status found = symbols.Found(); !found.ok()) return found;
  return table;
}

}  // namespace

absl::StatusOr<const CmLibrary*> CmLibrary::Load() {
  static const auto* const table = new absl::StatusOr<CmLibrary>(LoadTable());
  if (!table->ok()) return table->status();
  return &**table;
}

}  // namespace weft
