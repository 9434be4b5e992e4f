// The sockets of a transport, and who looks after them: either the threads that are in the library
// and poll, or, while there are none, the one thread that serves, which sleeps until something
// comes.
//
// A thread that polls says so (Attend), which takes the sockets out of the server's sight: woken
// for each arrival it would only be in the way. It need not say when it goes: a timer that it
// pushes ahead puts them back. The timer does so whatever anybody believes, so no arrival can be
// forgotten.
//
// Threads: Wait and Leave are the server's, without any lock; all else one thread at a time.
#ifndef WEFT_RUNTIME_TRANSPORT_TCP_SOCKET_SET_H_
#define WEFT_RUNTIME_TRANSPORT_TCP_SOCKET_SET_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "runtime/base/deadline.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/transport.h"
#include "weft/rank.h"

namespace weft {

// What a socket is for; by it the transport finds the object.
struct SocketTag {
  enum class Role : uint8_t { kListening, kMeeting, kCalling, kRequests, kServed };
  Role role = Role::kListening;
  Lane lane = Lane::kSmall;
  uint16_t peer = 0;
  int32_t socket = -1;
};
static_assert(sizeof(SocketTag) == 8);

class SocketSet {
 public:
  static absl::StatusOr<std::unique_ptr<SocketSet>> Make();

  // Ready when it is readable, or (`writable`) takes something. kResourceExhausted: the kernel's
  // limit.
  absl::Status Add(const SocketTag& tag, bool writable = false);
  void Change(const SocketTag& tag, bool readable, bool writable);
  // Before it is closed: a forked child may have it still, and then it would stay.
  void Remove(int socket);

  // Some of those that are ready now; valid until the next call.
  std::span<const SocketTag> Ready();

  // The caller polls from here on, for a while.
  void Attend();

  // Waits until something is ready that nobody attends to; false: until the deadline.
  bool Wait(Deadline deadline);
  // Somebody else polls: the server need not, for a while.
  void Leave();

 private:
  static constexpr size_t kBurst = 64;
  // Looking at the clock for each poll would take as long as the poll.
  static constexpr uint32_t kAttendsALook = 8;

  SocketSet() = default;
  void PushTimer();

  UniqueFd sockets_;  // An epoll of all of them.
  UniqueFd waits_;    // An epoll of that one, and of the timer.
  UniqueFd timer_;
  std::atomic<bool> in_sight_ = false;  // Of the server; a hint.
  uint32_t attends_ = 0;
  int64_t pushed_at_ = 0;
  std::array<SocketTag, kBurst> ready_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_TCP_SOCKET_SET_H_
