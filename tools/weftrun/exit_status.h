// weftrun's exit statuses, and the words for a process' end. Pure functions.
#ifndef WEFT_TOOLS_WEFTRUN_EXIT_STATUS_H_
#define WEFT_TOOLS_WEFTRUN_EXIT_STATUS_H_

#include <string>

namespace weft {

inline constexpr int kExitTimeout = 124;
inline constexpr int kExitLauncher = 125;  // weftrun's own fault, or its user's.
inline constexpr int kExitCannotRun = 126;
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitSignal = 128;  // Plus the signal.

// Of a status as of waitpid: the exit status, or 128 + the signal.
int ExitCode(int wait_status);
// "exited with status 3", "was killed by signal 9 (Killed)".
std::string DescribeEnd(int wait_status);
// "signal 2 (Interrupt)"
std::string DescribeSignal(int signal);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_EXIT_STATUS_H_
