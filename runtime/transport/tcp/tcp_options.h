// How the TCP transport is to be; plain data.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_TCP_OPTIONS_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_TCP_OPTIONS_H_

#include <string>

#include "absl/time/time.h"
#include "runtime/base/job_secret.h"

namespace weft {

struct TcpOptions {
  // WEFT_INTERFACE: an interface's name, or how its address starts ("10.1."). Empty: those that
  // other hosts may reach; where the job has one node, the loopback.
  std::string interface = {};
  bool one_node = true;
  JobSecret secret = {};
  // How long a peer may take to answer a call before it counts as lost.
  absl::Duration connect_limit = absl::Seconds(30);
  // How long what was sent may stay unacknowledged by the peer's host.
  absl::Duration silence_limit = absl::Seconds(3);
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_TCP_OPTIONS_H_
