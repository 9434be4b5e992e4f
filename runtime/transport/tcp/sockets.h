// Making and setting up the sockets of the TCP transport. Functions; any thread.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_SOCKETS_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_SOCKETS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/tcp/socket_address.h"

namespace weft {

// A socket that listens on `address`, on a port that the kernel picks and that is stored there.
absl::StatusOr<UniqueFd> Listen(SocketAddress& address);

// The next that calls a listening socket, set up as below; none: nobody does. kResourceExhausted:
// no descriptor is left.
absl::StatusOr<std::optional<UniqueFd>> Accept(int listening, absl::Duration silence_limit);

// A socket that is on its way to `address`: writable once it is there, or has failed.
absl::StatusOr<UniqueFd> StartConnect(const SocketAddress& address, absl::Duration silence_limit);

// OK: it is connected. kUnavailable: it failed. kDeadlineExceeded: not yet.
absl::Status FinishConnect(int socket);

// Ends the connection, also where a forked child has it still.
void HangUp(UniqueFd& socket);

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_SOCKETS_H_
