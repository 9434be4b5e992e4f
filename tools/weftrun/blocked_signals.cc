#include "tools/weftrun/blocked_signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace weft {

absl::Status BlockedSignals::Block(std::initializer_list<int> taken, int dropped) {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : taken) {
    struct sigaction before;
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaddset(&handled, signal);
  }
  sigaddset(&handled, SIGCHLD);
  sigset_t blocked = handled;
  for (const int signal : {SIGPIPE, SIGTTOU, dropped}) sigaddset(&blocked, signal);
  sigprocmask(SIG_BLOCK, &blocked, &mask_before_);
  signals_.reset(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (signals_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("cannot open a descriptor: ", strerror(errno)));
}

int BlockedSignals::Next() {
  signalfd_siginfo info;
  if (read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return 0;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace weft
