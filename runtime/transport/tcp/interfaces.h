// Which addresses of this host ranks on others may reach. Reads the kernel's list; any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_INTERFACES_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_INTERFACES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/transport/tcp/socket_address.h"

namespace weft {

struct InterfaceAddress {
  std::string name;
  SocketAddress address;  // Without a port.
  bool up = true;
};

// All that this host has.
absl::StatusOr<std::vector<InterfaceAddress>> ListInterfaces();

// Where a rank should listen: at most kMaxListened of `all`, the likeliest first. `chosen`: an
// interface's name, or how its address starts; "": every one that is up and neither the loopback
// nor of one link, those of virtual bridges (docker0, virbr0, ...) last, since every host may have
// the same. `one_node`: the loopback, unless one was chosen. Which of them a peer can really
// reach shows when it calls. kFailedPrecondition: there is none, and what there is.
inline constexpr size_t kMaxListened = 8;
absl::StatusOr<std::vector<SocketAddress>> ChooseListened(std::span<const InterfaceAddress> all,
                                                          std::string_view chosen, bool one_node);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_INTERFACES_H_
