// The life-line between the launcher and its guard: a SOCK_SEQPACKET pair whose
// closing tells each side that the other is dead, and the few messages that
// cross it. Both ends are one executable, so the messages are plain.
#ifndef WEFT_TOOLS_WEFTRUN_LIFELINE_H_
#define WEFT_TOOLS_WEFTRUN_LIFELINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/unique_fd.h"

namespace weft {

struct LifelineMessage {
  enum class Type : uint8_t {
    // Launcher to guard.
    kSignal,      // The user sent signal `number` to the launcher.
    kOutputLost,  // Nobody reads standard output any more, or it takes no more: end the job.
    // Guard to launcher.
    kNarration,  // For -v: `text`.
    kVerdict,    // The job is over: exit with `number`, after the line `text` unless empty.
  };
  Type type;
  int32_t number = 0;
  std::string text = {};
};

// The two ends; both empty when there is no descriptor left.
std::pair<UniqueFd, UniqueFd> MakeLifeline();

// False when the other side is dead or, unless `wait`, does not take it now.
bool SendLifeline(int fd, const LifelineMessage& message, bool wait);

struct LifelineReceived {
  bool closed = false;                     // The other side is dead.
  std::optional<LifelineMessage> message;  // Absent: nothing has arrived.
};
LifelineReceived ReceiveLifeline(int fd);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_LIFELINE_H_
