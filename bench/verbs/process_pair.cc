#include "bench/verbs/process_pair.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::bench {

void Require(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s: no %s: %s\n", program_invocation_short_name, what, strerror(errno));
  _exit(1);
}

ProcessPair::ProcessPair() {
  Require(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_) == 0, "socket pair");
  child_ = fork();
  Require(child_ >= 0, "second process");
  if (me() == 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(sockets_[1 - me()]);
}

void ProcessPair::AwaitSecond() const {
  shutdown(socket(), SHUT_WR);
  int status = 0;
  Require(waitpid(child_, &status, 0) == child_ && status == 0, "peer that ended well");
}

}  // namespace weft::bench
