#include "tools/weftrun/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "runtime/base/unique_fd.h"

namespace weft {
namespace {

// The parent of a process that still runs; 0 for a zombie or none.
pid_t ParentOf(const char* pid) {
  const UniqueFd fd(open((std::string("/proc/") + pid + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return 0;
  char text[512];
  const ssize_t length = read(fd.get(), text, sizeof(text) - 1);
  if (length <= 0) return 0;
  text[length] = '\0';
  // "pid (name) state ppid ..."; the name may have anything in it.
  const char* name_end = strrchr(text, ')');
  char state = 'X';
  int parent = 0;
  long threads = 0;
  if (name_end == nullptr ||
      sscanf(name_end + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
             &state, &parent, &threads) != 3) {
    return 0;
  }
  // A process whose first thread ended while others run looks like a zombie too.
  return (state == 'Z' && threads <= 1) || state == 'X' ? 0 : parent;
}

// Parent -> children, of all processes that run.
std::unordered_multimap<pid_t, pid_t> Children() {
  std::unordered_multimap<pid_t, pid_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (proc == nullptr) return children;
  while (const dirent* entry = readdir(proc.get())) {
    const pid_t process = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (process <= 0) continue;
    if (const pid_t parent = ParentOf(entry->d_name); parent > 0) {
      children.emplace(parent, process);
    }
  }
  return children;
}

}  // namespace

bool ReapChildren(const OnReaped& on_reaped) {
  while (true) {
    int status;
    const pid_t process = waitpid(-1, &status, WNOHANG);
    if (process == 0) return true;
    if (process < 0) return false;
    on_reaped(process, status);
  }
}

std::vector<pid_t> Descendants(const std::vector<pid_t>& spared) {
  const auto children = Children();
  std::vector<pid_t> found = {getpid()};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) {
      if (std::find(spared.begin(), spared.end(), child->second) == spared.end()) {
        found.push_back(child->second);
      }
    }
  }
  found.erase(found.begin());
  return found;
}

bool KillDescendants(const std::vector<pid_t>& spared, const OnReaped& on_reaped,
                     Deadline deadline) {
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  // Blocked, so that the wait below sees one that comes before it.
  sigset_t before;
  sigprocmask(SIG_BLOCK, &child_ended, &before);
  bool left = ReapChildren(on_reaped);
  while (left) {
    const std::vector<pid_t> processes = Descendants(spared);
    for (const pid_t process : processes) kill(process, SIGKILL);
    left = ReapChildren(on_reaped);
    // Only the spared, and zombies that their parents do not reap, are left then.
    if (processes.empty() && !spared.empty()) left = false;
    if (!left || deadline.Expired()) break;
    // The grandchildren of one that ended become our children without a signal,
    // hence the short wait.
    const timespec wait = {.tv_sec = 0, .tv_nsec = 5'000'000};
    sigtimedwait(&child_ended, nullptr, &wait);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return !left;
}

}  // namespace weft
