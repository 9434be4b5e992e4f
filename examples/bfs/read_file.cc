#include "examples/bfs/read_file.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfs {
namespace {

// All that `fd` yields until its end; `source` is for messages.
absl::StatusOr<std::string> ReadToEnd(int fd, const std::string& source) {
  std::string text;
  std::vector<char> chunk(256 * 1024);
  while (true) {
    const ssize_t got = read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, source);
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<size_t>(got));
  }
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  absl::Cleanup close_file = [fd] { close(fd); };
  return ReadToEnd(fd, path);
}

absl::StatusOr<std::string> ReadCommand(const std::vector<std::string>& command) {
  const std::string shown = absl::StrJoin(command, " ");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, shown);
  absl::Cleanup close_read = [&] { close(ends[0]); };

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) return absl::ErrnoToStatus(error, shown);

  absl::StatusOr<std::string> text = ReadToEnd(ends[0], shown);
  // A child that still writes, because reading failed, ends by SIGPIPE.
  std::move(close_read).Invoke();
  int status;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text.ok()) return text;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return absl::UnavailableError(absl::StrCat(
        shown, WIFEXITED(status) ? absl::StrCat(": exit status ", WEXITSTATUS(status))
                                 : absl::StrCat(": killed by signal ", WTERMSIG(status))));
  }
  return text;
}

}  // namespace bfs
