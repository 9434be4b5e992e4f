#include "tests/examples/run_job.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

namespace examples {
namespace {

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

JobResult RunJob(int ranks, const std::string& program, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& launcher) {
  std::vector<std::string> command = {"tools/weftrun/weftrun", "-n", std::to_string(ranks),
                                      "--timeout", "120"};
  command.insert(command.end(), launcher.begin(), launcher.end());
  command.push_back(program);
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);

  // Files, not pipes: nobody has to read while the job runs.
  const std::string out = testing::TempDir() + "/job.out", err = testing::TempDir() + "/job.err";
  constexpr int kCreate = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), kCreate, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), kCreate, 0600);
  pid_t child;
  const int error = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    ADD_FAILURE() << "cannot start " << command[0] << ": error " << error;
    return {};
  }
  int status;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .out = Contents(out),
          .err = Contents(err)};
}

}  // namespace examples
