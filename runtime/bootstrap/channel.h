// One end of the socket between weftrun's guard and a rank: sends and receives
// single messages, and the descriptors that go with them. Functions on a
// descriptor that the caller owns; one message is sent or received atomically,
// so several threads may send.
#ifndef WEFT_RUNTIME_BOOTSTRAP_CHANNEL_H_
#define WEFT_RUNTIME_BOOTSTRAP_CHANNEL_H_

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/deadline.h"
#include "runtime/base/unique_fd.h"

namespace weft {

inline constexpr size_t kMaxChannelFds = 3;

struct Datagram {
  std::string bytes;
  std::vector<UniqueFd> fds;
  // Who sent it, by the kernel's word; 0 unless SO_PASSCRED is set on the socket.
  pid_t sender = 0;
};

// kDeadlineExceeded when the peer does not make room, kUnavailable when it is gone.
absl::Status SendDatagram(int socket, std::string_view bytes, std::span<const int> fds,
                          Deadline deadline);

// kDeadlineExceeded when nothing has arrived, kUnavailable when the peer is gone
// and everything that it sent has been received.
absl::StatusOr<Datagram> ReceiveDatagram(int socket, Deadline deadline);

}  // namespace weft
#endif  // WEFT_RUNTIME_BOOTSTRAP_CHANNEL_H_
