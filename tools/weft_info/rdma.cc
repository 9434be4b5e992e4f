#include "tools/weft_info/rdma.h"

#include <infiniband/verbs.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/transport/verbs/verbs_library.h"

namespace weft {
namespace {

const char* StateOf(const ibv_port_attr& port) {
  switch (port.state) {
    case IBV_PORT_ACTIVE:
      return "active";
    case IBV_PORT_INIT:
      return "initializing";
    case IBV_PORT_ARMED:
      return "armed";
    case IBV_PORT_ACTIVE_DEFER:
      return "active, deferred";
    default:
      return "down";
  }
}

const char* AtomicsOf(const ibv_device_attr& device) {
  switch (device.atomic_cap) {
    case IBV_ATOMIC_NONE:
      return "none: carried as messages, executed by the owner (agent domain)";
    case IBV_ATOMIC_HCA:
      return "exclude each other within the device (nic domain)";
    default:
      return "exclude the processor's, too (nic domain)";
  }
}

const char* TypeOf(const ibv_gid_entry& entry) {
  switch (entry.gid_type) {
    case IBV_GID_TYPE_ROCE_V1:
      return "RoCE v1";
    case IBV_GID_TYPE_ROCE_V2:
      return "RoCE v2";
    default:
      return "InfiniBand";
  }
}

Document GidsOf(const VerbsLibrary& library, ibv_context* context, uint8_t number, int length) {
  Document gids = Document::array();
  for (uint32_t index = 0; index < static_cast<uint32_t>(length); ++index) {
    ibv_gid_entry entry;
    if (library.query_gid(context, number, index, &entry, 0, sizeof(entry)) != 0) continue;
    gids.push_back(absl::StrCat(index, ": ", FormatGid(entry.gid), ", ", TypeOf(entry)));
  }
  return gids;
}

Document PortOf(const VerbsLibrary& library, ibv_context* context, const VerbsPort& port) {
  Document shown = {{"port", port.number}};
  ibv_port_attr attributes = {};
  if (library.query_port(context, port.number, &attributes) == 0) {
    shown["state"] = StateOf(attributes);
    shown["link_layer"] =
        attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
    shown["MTU_bytes"] = 128u << attributes.active_mtu;
    shown["largest_message_bytes"] = attributes.max_msg_sz;
    shown["LID"] = attributes.lid;
    shown["GIDs"] = GidsOf(library, context, port.number, attributes.gid_tbl_len);
  }
  shown["usable"] = port.usable;
  shown["because"] = port.reason;
  return shown;
}

Document DeviceOf(const VerbsLibrary& library, ibv_device* device,
                  const std::vector<VerbsPort>& ports) {
  const std::string name = library.get_device_name(device);
  Document shown = {{"device", name}};
  shown["transport"] = device->transport_type == IBV_TRANSPORT_IWARP ? "iWARP" : "InfiniBand, RoCE";
  const ContextHandle context(library.open_device(device), library.close_device);
  ibv_device_attr limits = {};
  if (context == nullptr || library.query_device(context.get(), &limits) != 0) {
    shown["error"] = "it cannot be opened; is /dev/infiniband accessible to this user?";
    return shown;
  }
  shown["firmware"] = limits.fw_ver;
  shown["vendor"] = absl::StrFormat("0x%x, part %u", limits.vendor_id, limits.vendor_part_id);
  shown["atomics"] = AtomicsOf(limits);
  shown["limits"] = {{"queue_pairs", limits.max_qp},
                     {"requests_of_a_queue", limits.max_qp_wr},
                     {"completions_of_a_queue", limits.max_cqe},
                     {"memory_regions", limits.max_mr},
                     {"region_bytes", limits.max_mr_size},
                     {"pieces_of_a_request", limits.max_sge},
                     {"reads_and_atomics_under_way", limits.max_qp_rd_atom},
                     {"shared_receives", limits.max_srq_wr}};
  shown["ports"] = Document::array();
  for (const VerbsPort& port : ports) {
    if (port.device == name) shown["ports"].push_back(PortOf(library, context.get(), port));
  }
  return shown;
}

}  // namespace

absl::StatusOr<std::vector<VerbsPort>> AddRdma(Report& report) {
  const absl::StatusOr<const VerbsLibrary*> library = VerbsLibrary::Load();
  if (!library.ok()) {
    report.facts["RDMA"] = std::string(library.status().message());
    return library.status();
  }
  std::vector<VerbsPort> ports = SurveyPorts(**library);
  Document& devices = report.facts["RDMA"] = Document::array();
  int count = 0;
  ibv_device** const list = (*library)->get_device_list(&count);
  for (int i = 0; i < count; ++i) devices.push_back(DeviceOf(**library, list[i], ports));
  if (list != nullptr) (*library)->free_device_list(list);
  return ports;
}

}  // namespace weft
