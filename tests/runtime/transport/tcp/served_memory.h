// A slab between memory that nobody may touch, and a connection to it: what a peer may do to a rank
// over TCP, without the peer.
#ifndef WEFT_TESTS_RUNTIME_TRANSPORT_TCP_SERVED_MEMORY_H_
#define WEFT_TESTS_RUNTIME_TRANSPORT_TCP_SERVED_MEMORY_H_

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "runtime/transport/tcp/served_lane.h"

namespace weft {

class GuardedMemory {
 public:
  static constexpr size_t kSlabBytes = 64 << 10;
  static constexpr size_t kGuardBytes = 4096;
  static constexpr std::byte kUntouched{0xa5};

  GuardedMemory()
      : bytes_(kSlabBytes + 2 * kGuardBytes, kUntouched), control_(new ControlRegion()) {
    served_.segments[0] = slab();
    served_.segments[1] = std::as_writable_bytes(std::span(control_.get(), 1));
    served_.control = control_.get();
  }

  const ServedMemory& served() const { return served_; }
  std::span<std::byte> slab() { return std::span(bytes_).subspan(kGuardBytes, kSlabBytes); }
  bool GuardsAreUntouched() const {
    const auto untouched = [](std::byte b) { return b == kUntouched; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kGuardBytes, untouched) &&
           std::all_of(bytes_.end() - kGuardBytes, bytes_.end(), untouched);
  }

 private:
  std::vector<std::byte> bytes_;
  const std::unique_ptr<ControlRegion> control_;
  ServedMemory served_;
};

// The two ends of a stream that behaves like a connection.
struct StreamPair {
  UniqueFd ours, theirs;
  StreamPair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
  }
};

}  // namespace weft
#endif  // WEFT_TESTS_RUNTIME_TRANSPORT_TCP_SERVED_MEMORY_H_
