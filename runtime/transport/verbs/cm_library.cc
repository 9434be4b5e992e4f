#include "runtime/transport/verbs/cm_library.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/transport/verbs/symbols.h"

namespace weft {
namespace {

constexpr char kName[] = "librdmacm.so.1";

absl::StatusOr<CmLibrary> LoadTable() {
  void* const library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::NotFoundError(absl::StrCat("no connecting by librdmacm: ", dlerror(),
                                            "; install rdma-core's librdmacm1"));
  }
  CmLibrary table = {};
  Symbols symbols(library);
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
  if (!symbols.missing().empty()) {
    return absl::NotFoundError(absl::StrCat("no connecting by librdmacm: ", kName, " has no ",
                                            symbols.missing(),
                                            "; Weft needs rdma-core 35 or later"));
  }
  return table;
}

}  // namespace

absl::StatusOr<const CmLibrary*> CmLibrary::Load() {
  static const auto* const table = new absl::StatusOr<CmLibrary>(LoadTable());
  if (!table->ok()) return table->status();
  return &**table;
}

}  // namespace weft
