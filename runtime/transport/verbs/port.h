// The ports of the machine's RDMA devices, and which one a rank uses.
//
// A port must be active, and on Ethernet (RoCE) have an address (GID). Of
// several GIDs the best kind is taken, never a fixed index: RoCE v2 on IPv4, then
// on global IPv6, then on link-local IPv6. Plain data and functions; any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_PORT_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_PORT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/transport/verbs/verbs_library.h"

namespace weft {

struct VerbsPort {
  std::string device;
  uint8_t number = 1;
  bool iwarp = false;     // Peers are found by IP address, by librdmacm.
  bool ethernet = false;  // Else: peers are found by GID, not by LID.
  uint16_t lid = 0;
  ibv_gid gid = {};
  uint32_t gid_type = 0;
  uint32_t gid_index = 0;     // When the port was surveyed.
  uint32_t gid_count = 0;     // Length of the table.
  ibv_mtu mtu = IBV_MTU_256;  // The one in force.
  uint32_t max_message = 0;   // Bytes.
  // What about it: why it cannot be used, or how its GID was chosen.
  bool usable = false;
  std::string reason;

  std::string name() const;  // "rxe0:1"
};

// How good a GID of RoCE is for connecting by: more than 0.
int RankGid(const ibv_gid_entry& entry);

// As an IPv6 address, which it has the form of.
std::string FormatGid(const ibv_gid& gid);

// All ports of all devices, in the order of the library's list.
std::vector<VerbsPort> SurveyPorts(const VerbsLibrary& library);

// The first usable port; of those that `wanted` ("", "device" or "device:port")
// names. kNotFound says what is wrong with each port.
absl::StatusOr<VerbsPort> ChoosePort(const std::vector<VerbsPort>& ports, std::string_view wanted);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_PORT_H_
