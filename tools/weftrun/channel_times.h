// How launcher and keeper watch each other. Either sends a heartbeat each half
// second. A keeper gives up earlier than the launcher: when the launcher says
// that a host's ranks are dead, they can write nothing any more.
#ifndef WEFT_TOOLS_WEFTRUN_CHANNEL_TIMES_H_
#define WEFT_TOOLS_WEFTRUN_CHANNEL_TIMES_H_

#include <cstdint>

namespace weft {

inline constexpr int64_t kHeartbeatNanos = 500'000'000;
inline constexpr int64_t kLauncherPatienceNanos = 3'000'000'000;
// The launcher's last heartbeat that arrives may be half a second younger than the
// keeper's that does.
inline constexpr int64_t kKeeperPatienceNanos = 2'500'000'000;
// To connect, authenticate, and start weftrun on another host.
inline constexpr int64_t kStartPatienceNanos = 30'000'000'000;
// Output or input that a host may have sent without hearing that it is out of the way.
inline constexpr uint64_t kOutputWindow = 256 * 1024;
inline constexpr uint64_t kInputWindow = 64 * 1024;

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_CHANNEL_TIMES_H_
