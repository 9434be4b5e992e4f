#include "runtime/transport/verbs/port.h"

#include <arpa/inet.h>
#include <string.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr uint8_t kMappedV4[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool IsMappedV4(const ibv_gid& gid) { return std::equal(kMappedV4, kMappedV4 + 12, gid.raw); }
bool IsLinkLocal(const ibv_gid& gid) { return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80; }

const char* Describe(const ibv_gid_entry& entry) {
  if (IsMappedV4(entry.gid)) return "an IPv4 address";
  return IsLinkLocal(entry.gid) ? "a link-local IPv6 address" : "a global IPv6 address";
}

// Finds the GID of an Ethernet port.
void ChooseGid(const VerbsLibrary& library, ibv_context* context, int table_length,
               VerbsPort& port) {
  port.gid_count = static_cast<uint32_t>(std::clamp(table_length, 0, UINT8_MAX + 1));
  int best = 0;
  for (uint32_t i = 0; i < port.gid_count; ++i) {
    ibv_gid_entry entry;
    if (library.query_gid(context, port.number, i, &entry, 0, sizeof(entry)) != 0) {
      continue;  // Empty.
    }
    const int rank = RankGid(entry);
    if (rank <= best) continue;
    best = rank;
    port.gid = entry.gid;
    port.gid_type = entry.gid_type;
    port.gid_index = entry.gid_index;
    port.reason = absl::StrCat("GID ", entry.gid_index, ", ", Describe(entry));
  }
  port.usable = best > 0;
  if (best == 0) port.reason = "it has no GID: give its network interface an IP address";
}

VerbsPort Survey(const VerbsLibrary& library, ibv_context* context, std::string_view device,
                 uint8_t number) {
  VerbsPort port;
  port.device = std::string(device);
  port.number = number;
  ibv_port_attr attributes = {};
  if (const int error = library.query_port(context, number, &attributes); error != 0) {
    port.reason = absl::StrCat("it cannot be queried: ", strerror(error));
    return port;
  }
  port.iwarp = context->device->transport_type == IBV_TRANSPORT_IWARP;
  port.ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  port.lid = attributes.lid;
  port.mtu = attributes.active_mtu;
  port.max_message = attributes.max_msg_sz;
  if (attributes.state != IBV_PORT_ACTIVE) {
    port.reason = "it is not active: is the cable in, and the interface up?";
    return port;
  }
  if (port.iwarp) {
    port.usable = true;
    port.reason = "iWARP";
    return port;
  }
  if (port.ethernet) {
    ChooseGid(library, context, attributes.gid_tbl_len, port);
    return port;
  }
  port.usable = port.lid != 0;
  port.reason =
      port.usable ? absl::StrCat("LID ", port.lid) : "it has no LID: does a subnet manager run?";
  return port;
}

}  // namespace

std::string VerbsPort::name() const { return absl::StrCat(device, ":", number); }

int RankGid(const ibv_gid_entry& entry) {
  // RoCE v1 does not cross routers.
  const int kind = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 3 : 0;
  const int address = IsMappedV4(entry.gid) ? 3 : IsLinkLocal(entry.gid) ? 1 : 2;
  return kind + address;
}

std::string FormatGid(const ibv_gid& gid) {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, gid.raw, text, sizeof(text));
}

std::vector<VerbsPort> SurveyPorts(const VerbsLibrary& library) {
  std::vector<VerbsPort> ports;
  int count = 0;
  ibv_device** const devices = library.get_device_list(&count);
  if (devices == nullptr) return ports;
  for (int i = 0; i < count; ++i) {
    const char* const name = library.get_device_name(devices[i]);
    const ContextHandle context(library.open_device(devices[i]), library.close_device);
    ibv_device_attr attributes;
    if (context == nullptr || library.query_device(context.get(), &attributes) != 0) {
      VerbsPort& port = ports.emplace_back();
      port.device = name;
      port.reason = "the device cannot be opened";
      continue;
    }
    for (int number = 1; number <= attributes.phys_port_cnt; ++number) {
      ports.push_back(Survey(library, context.get(), name, static_cast<uint8_t>(number)));
    }
  }
  library.free_device_list(devices);
  return ports;
}

absl::StatusOr<VerbsPort> ChoosePort(const std::vector<VerbsPort>& ports, std::string_view wanted) {
  std::string found;
  for (const VerbsPort& port : ports) {
    if (!wanted.empty() && wanted != port.device && wanted != port.name()) continue;
    if (port.usable) return port;
    absl::StrAppend(&found, found.empty() ? "" : "; ", port.name(), ": ", port.reason);
  }
  if (!found.empty()) return absl::NotFoundError(absl::StrCat("no usable RDMA port: ", found));
  if (ports.empty()) return absl::NotFoundError("this machine has no RDMA device");
  for (const VerbsPort& port : ports) {
    absl::StrAppend(&found, found.empty() ? "" : ", ", port.name());
  }
  return absl::NotFoundError(absl::StrCat("there is no RDMA port ", std::string(wanted),
                                          " (WEFT_VERBS_DEVICE); there are: ", found));
}

}  // namespace weft
