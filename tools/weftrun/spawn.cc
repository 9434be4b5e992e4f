#include "tools/weftrun/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/weftrun/exit_status.h"

namespace weft {
namespace {

[[noreturn]] void Fail(const SpawnContext& context, Rank rank, SpawnFailure::Stage stage,
                       int status) {
  const SpawnFailure failure = {rank, stage, errno};
  // A full pipe has enough failures to show.
  if (write(context.failures, &failure, sizeof(failure)) < 0) status = kExitLauncher;
  _exit(status);
}

void Bind(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const int size = *std::max_element(cpus.begin(), cpus.end()) + 1;
  cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(size));
  const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(size));
  CPU_ZERO_S(bytes, set);
  for (const int cpu : cpus) CPU_SET_S(static_cast<size_t>(cpu), bytes, set);
  // A cpu that has just gone is no reason not to run.
  sched_setaffinity(0, bytes, set);
  CPU_FREE(set);
}

void SetEnvironment(const SpawnContext& context, const SpawnRank& rank) {
  const Options& options = *context.options;
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  struct stat socket;
  fstat(rank.socket, &socket);
  const std::string place = absl::StrCat("fd=", rank.socket, ",ino=", socket.st_ino);
  setenv("WEFT_BOOTSTRAP", place.c_str(), 1);
  setenv("WEFT_RANK", absl::StrCat(rank.rank).c_str(), 1);
  setenv("WEFT_SIZE", absl::StrCat(context.map->size()).c_str(), 1);
  setenv("WEFT_NODE", absl::StrCat(context.map->of(rank.rank)).c_str(), 1);
}

[[noreturn]] void RunChild(const SpawnContext& context, const SpawnRank& rank, pid_t guard) {
  const Options& options = *context.options;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guard) _exit(kExitLauncher);  // It died before the line above.
  setpgid(0, 0);
  if (!rank.inherits_stdin) dup2(rank.empty_stdin, STDIN_FILENO);
  dup2(rank.stdout_fd, STDOUT_FILENO);
  dup2(rank.stderr_fd, STDERR_FILENO);
  fcntl(rank.socket, F_SETFD, 0);  // Not close-on-exec.
  setrlimit(RLIMIT_NOFILE, &context.open_files);
  Bind(rank.cpus);
  SetEnvironment(context, rank);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) {
    Fail(context, rank.rank, SpawnFailure::Stage::kDirectory, kExitLauncher);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : options.command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &context.signal_mask, nullptr);
  execvp(arguments[0], arguments.data());
  Fail(context, rank.rank, SpawnFailure::Stage::kExec,
       errno == ENOENT || errno == ENOTDIR ? kExitNotFound : kExitCannotRun);
}

}  // namespace

bool SpawnFailures::Open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  reader_.reset(ends[0]);
  writer_.reset(ends[1]);
  return true;
}

std::optional<SpawnFailure> SpawnFailures::Of(Rank rank) {
  SpawnFailure failure;
  while (read(reader_.get(), &failure, sizeof(failure)) == sizeof(failure)) {
    seen_.push_back(failure);
  }
  for (const SpawnFailure& seen : seen_) {
    if (seen.rank == rank) return seen;
  }
  return std::nullopt;
}

pid_t Spawn(const SpawnContext& context, const SpawnRank& rank) {
  const pid_t guard = getpid();
  const pid_t child = fork();
  if (child == 0) RunChild(context, rank, guard);
  // Both do it, so that the group is there whoever runs first.
  if (child > 0) setpgid(child, child);
  return child;
}

std::string Describe(const SpawnFailure& failure, const Options& options) {
  const char* reason = strerror(failure.error);
  if (failure.stage == SpawnFailure::Stage::kDirectory) {
    return absl::StrFormat("cannot enter the directory %s: %s", options.directory, reason);
  }
  const std::string& program = options.command[0];
  if (failure.error != ENOENT) return absl::StrFormat("cannot run %s: %s", program, reason);
  if (program.find('/') == std::string::npos) {
    return absl::StrFormat(
        "cannot run %s: there is no such program on the PATH (one in this directory is ./%s)",
        program, program);
  }
  if (access(program.c_str(), F_OK) == 0) {
    return absl::StrFormat("cannot run %s: its interpreter or loader does not exist", program);
  }
  return absl::StrFormat("cannot run %s: %s", program, reason);
}

}  // namespace weft
