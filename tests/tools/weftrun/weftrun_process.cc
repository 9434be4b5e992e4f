#include "tests/tools/weftrun/weftrun_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

namespace weft {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string Contents(const UniqueFd& file) {
  std::string text;
  char buffer[65536];
  ssize_t length;
  while ((length = pread(file.get(), buffer, sizeof(buffer), static_cast<off_t>(text.size()))) >
         0) {
    text.append(buffer, static_cast<size_t>(length));
  }
  return text;
}

void Nap() {
  const timespec wait = {.tv_sec = 0, .tv_nsec = 1'000'000};
  nanosleep(&wait, nullptr);
}

pid_t ParentOf(pid_t process) {
  const std::string stat = ReadAll("/proc/" + std::to_string(process) + "/stat");
  const size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos ? 0 : atoi(stat.c_str() + name_end + 4);
}

std::string NameOf(pid_t process) { return ReadAll("/proc/" + std::to_string(process) + "/comm"); }

}  // namespace

std::string Runfile(const std::string& path) {
  const char* sources = getenv("TEST_SRCDIR");
  const char* workspace = getenv("TEST_WORKSPACE");
  if (sources == nullptr || workspace == nullptr) return path;
  return std::string(sources) + "/" + workspace + "/" + path;
}

std::string WeftrunPath() { return Runfile("tools/weftrun/weftrun"); }
std::string TestRankPath() { return Runfile("tests/tools/weftrun/test_rank"); }

int WeftrunResult::code() const {
  if (!ended) return -1;
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

WeftrunProcess::WeftrunProcess(const Setup& setup) {
  static std::atomic<int> count = 0;
  mark_ = "WEFT_TEST_RUN=" + std::to_string(getpid()) + "-" + std::to_string(MonotonicNanos()) +
          "-" + std::to_string(++count);
  out_.reset(memfd_create("out", MFD_CLOEXEC));
  err_.reset(memfd_create("err", MFD_CLOEXEC));
  std::vector<std::string> arguments = {setup.program};
  arguments.insert(arguments.end(), setup.arguments.begin(), setup.arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  started_ = MonotonicNanos();
  pid_ = fork();
  if (pid_ == 0) {
    if (setup.own_group) setpgid(0, 0);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(setup.stdin_fd >= 0 ? setup.stdin_fd : null, 0);
    dup2(setup.stdout_fd >= 0 ? setup.stdout_fd : out_.get(), 1);
    dup2(setup.stderr_fd >= 0 ? setup.stderr_fd : err_.get(), 2);
    for (const std::string& variable : setup.environment) putenv(strdup(variable.c_str()));
    putenv(strdup(mark_.c_str()));
    execv(argv[0], argv.data());
    _exit(126);
  }
  if (setup.own_group) setpgid(pid_, pid_);
  pidfd_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
}

WeftrunProcess::~WeftrunProcess() {
  const Deadline deadline = Deadline::After(absl::Seconds(20));
  while (!deadline.Expired()) {
    const auto processes = Processes();
    if (processes.empty()) break;
    for (const pid_t process : processes) kill(process, SIGKILL);
    Nap();
  }
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

void WeftrunProcess::Signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

void WeftrunProcess::SignalGroup(int signal) const {
  if (pid_ > 1) kill(-pid_, signal);
}

std::vector<pid_t> WeftrunProcess::Processes() const {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  const std::string mark = '\0' + mark_ + '\0';
  while (const dirent* entry = readdir(proc.get())) {
    const pid_t process = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (process <= 0) continue;
    // A zombie's is empty.
    const std::string environment = '\0' + ReadAll("/proc/" + std::to_string(process) + "/environ");
    if (environment.find(mark) != std::string::npos) found.push_back(process);
  }
  return found;
}

bool WeftrunProcess::IsWeftrun(pid_t process) { return NameOf(process) == "weftrun\n"; }

pid_t WeftrunProcess::Guard() const {
  for (const pid_t process : Processes()) {
    // A rank has the guard's name too until it runs its program.
    if (NameOf(process) == "weftrun-guard\n" && ParentOf(process) == pid_) return process;
  }
  return 0;
}

std::vector<pid_t> WeftrunProcess::Named(const std::string& name) const {
  std::vector<pid_t> found;
  for (const pid_t process : Processes()) {
    if (NameOf(process) == name + "\n") found.push_back(process);
  }
  return found;
}

bool WeftrunProcess::IsAbove(pid_t process, pid_t descendant) {
  pid_t at = descendant;
  while (at > 1 && at != process) at = ParentOf(at);
  return at == process;
}

std::vector<pid_t> WeftrunProcess::Ranks() const { return Named("test_rank"); }

std::string WeftrunProcess::Describe() const {
  std::string text;
  for (const pid_t process : Processes()) {
    const std::string folder = "/proc/" + std::to_string(process);
    text += ReadAll(folder + "/stat").substr(0, 60) + " | ";
    std::istringstream status(ReadAll(folder + "/status"));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Sig") || line.starts_with("ShdPnd")) text += line + "; ";
    }
    text += "\n";
  }
  return text;
}

bool WeftrunProcess::Gone(Deadline deadline) const {
  while (!Processes().empty()) {
    if (deadline.Expired()) return false;
    Nap();
  }
  return true;
}

WeftrunResult WeftrunProcess::Wait(Deadline deadline) {
  WeftrunResult result;
  pollfd poll_ended = {.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  while (!deadline.Expired() && !result.ended) {
    const int64_t left = std::min<int64_t>(deadline.RemainingNanos() / 1'000'000 + 1, 3'600'000);
    result.ended = poll(&poll_ended, 1, static_cast<int>(left)) > 0;
  }
  result.seconds = static_cast<double>(MonotonicNanos() - started_) * 1e-9;
  if (result.ended) {
    waitpid(pid_, &result.wait_status, 0);
    pid_ = -1;
  }
  result.out = out();
  result.err = err();
  return result;
}

bool WeftrunProcess::AwaitOutput(const std::function<bool(const std::string&)>& done) const {
  const Deadline deadline = Deadline::After(absl::Minutes(1));
  while (!done(out())) {
    if (deadline.Expired()) return false;
    usleep(1000);  // Nothing else tells when another process writes to a file.
  }
  return true;
}

bool WeftrunProcess::AwaitUp(size_t count) const {
  return AwaitOutput([count](const std::string& out) {
    size_t lines = 0;
    for (size_t at = 0; (at = out.find("up\n", at)) != std::string::npos; at += 3) ++lines;
    return lines == count;
  });
}

std::string WeftrunProcess::out() const { return Contents(out_); }
std::string WeftrunProcess::err() const { return Contents(err_); }

WeftrunResult RunWeftrun(const std::vector<std::string>& arguments) {
  WeftrunProcess process({.arguments = arguments});
  WeftrunResult result = process.Wait();
  EXPECT_TRUE(result.ended) << "weftrun still runs after " << result.seconds << " s";
  // Whatever happened, nothing is left.
  EXPECT_TRUE(process.Gone(Deadline::After(absl::Seconds(2))));
  return result;
}

}  // namespace weft
