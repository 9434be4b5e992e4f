// What the TCP transport publishes through the bootstrap, as bytes: where a rank listens, and which
// of its segments it serves.
//
// The bytes come from other processes: decoding checks everything. Plain data and functions; any
// thread.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_TCP_ADDRESS_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_TCP_ADDRESS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/transport/tcp/socket_address.h"
#include "runtime/transport/transport.h"
#include "weft/rank.h"

namespace weft {

struct TcpAddress {
  Rank rank = 0;
  std::vector<SocketAddress> listening;  // 1 to kMaxListened, the likeliest first.

  std::string Encode() const;
  // kInvalidArgument for anything that Encode did not make.
  static absl::StatusOr<TcpAddress> Decode(std::string_view bytes);
};

struct TcpKey {
  Rank rank = 0;
  Segment::Kind segment = Segment::Kind::kSlab;  // Or kControl.
  uint64_t length = 0;

  std::string Encode() const;
  // kInvalidArgument for anything that Encode did not make.
  static absl::StatusOr<TcpKey> Decode(std::string_view bytes);
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_TCP_ADDRESS_H_
