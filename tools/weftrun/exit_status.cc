#include "tools/weftrun/exit_status.h"

#include <string.h>
#include <sys/wait.h>

#include "absl/strings/str_format.h"

namespace weft {

int ExitCode(int wait_status) {
  return WIFSIGNALED(wait_status) ? kExitSignal + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string DescribeEnd(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    return "was killed by " + DescribeSignal(WTERMSIG(wait_status));
  }
  return absl::StrFormat("exited with status %d", WEXITSTATUS(wait_status));
}

std::string DescribeSignal(int signal) {
  return absl::StrFormat("signal %d (%s)", signal, strsignal(signal));
}

}  // namespace weft
