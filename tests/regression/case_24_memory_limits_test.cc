// Case 24: little room in /dev/shm, and limits that are too low. Weft keeps
// nothing there: it works; what does not work is an error of Join that names the
// limit, never SIGBUS or SIGXFSZ.
#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/tools/weftrun/weftrun_process.h"
#include "tests/world/rank_report.h"

namespace weft::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Program() { return Runfile("tests/world/life_program"); }

// A mount namespace of this process's own. Empty, or what is missing for it.
std::string EnterMountNamespace() {
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
      return std::string("no mount namespace can be made here: ") + strerror(errno);
    }
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return std::string("mounts cannot be made private here: ") + strerror(errno);
  }
  return "";
}

// Runs `body`, with EXPECTs, in a child that has a /dev/shm mounted with `flags`
// and `options`.
void WithShm(unsigned long flags, const char* options, void (*body)()) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string missing = EnterMountNamespace();
    if (missing.empty() && mount("tmpfs", "/dev/shm", "tmpfs", flags, options) != 0) {
      missing = std::string("no tmpfs can be mounted here: ") + strerror(errno);
    }
    if (!missing.empty()) {
      if (write(channel[1], missing.data(), missing.size()) < 0) _exit(2);
      _exit(77);
    }
    body();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  close(channel[1]);
  std::string missing(256, '\0');
  const ssize_t length = read(channel[0], missing.data(), missing.size());
  close(channel[0]);
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    missing.resize(length > 0 ? static_cast<size_t>(length) : 0);
    GTEST_SKIP() << missing;
  }
  EXPECT_EQ(status, 0) << "what failed is said above";
}

void TouchEverything() {
  struct statvfs shm;
  ASSERT_EQ(statvfs("/dev/shm", &shm), 0);
  ASSERT_LE(shm.f_blocks * shm.f_frsize, uint64_t{64} << 20);
  const WeftrunResult result = RunWeftrun({"--timeout", "100", "-n", "2", Program(), "touch"});
  EXPECT_EQ(result.code(), 0) << result.out << result.err;
  for (const char* rank : {"0", "1"}) {
    const auto told = ReportsOf(ParseReports(result.out), rank);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].what, "OK");
  }
}

// The default heap of 256 MiB a rank, all of it touched.
TEST(Case24MemoryLimits, AShmOf64MegabytesDoesNotMatter) {
  WithShm(0, "size=64m", TouchEverything);
}

TEST(Case24MemoryLimits, AShmThatCannotBeWrittenDoesNotMatter) {
  WithShm(MS_RDONLY, "size=4k", TouchEverything);
}

// `limits` as a shell sets them, then the program: alone, or as ranks.
struct RunResult {
  int code;
  std::string out;
  std::string err;
};
RunResult Alone(const std::string& limits) {
  WeftrunProcess process(
      {.program = "/bin/sh", .arguments = {"-c", limits + "; exec \"$0\" touch", Program()}});
  const WeftrunResult result = process.Wait();
  return {result.code(), result.out, result.err};
}
// All ranks have the limits.
RunResult Ranks(const std::string& limits) {
  const WeftrunResult result = RunWeftrun(
      {"--timeout", "60", "-n", "2", "/bin/sh", "-c", limits + "; exec \"$0\" touch", Program()});
  return {result.code(), result.out, result.err};
}
// weftrun has the limits, and so has all that it starts.
RunResult Launcher(const std::string& limits) {
  WeftrunProcess process(
      {.program = "/bin/sh",
       .arguments = {"-c", limits + "; exec \"$0\" --timeout 60 -n 2 \"$1\" touch", WeftrunPath(),
                     Program()}});
  const WeftrunResult result = process.Wait();
  return {result.code(), result.out, result.err};
}

// That a rank told of `what`, and the process ended by itself.
void ExpectToldOf(const RunResult& run, const std::string& what) {
  EXPECT_EQ(run.code, 3) << run.out << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr(what))) << run.err;
}

TEST(Case24MemoryLimits, AddressSpace) {
  const std::string limit = "ulimit -v 200000";
  ExpectToldOf(Alone(limit), "ulimit -v");
  ExpectToldOf(Ranks(limit), "ulimit -v");
  ExpectToldOf(Launcher(limit), "ulimit -v");
}

TEST(Case24MemoryLimits, FileSizes) {
  const std::string limit = "ulimit -f 1000";
  ExpectToldOf(Alone(limit), "ulimit -f");
  ExpectToldOf(Launcher(limit), "ulimit -f");
  // The guard makes the memory: a rank's own limit is none on it.
  const RunResult ranks = Ranks(limit);
  EXPECT_EQ(ranks.code, 0) << ranks.out << ranks.err;
}

TEST(Case24MemoryLimits, OpenFiles) {
  ExpectToldOf(Alone("ulimit -n 5"), "ulimit -n");
  ExpectToldOf(Ranks("ulimit -n 5"), "ulimit -n");
}

}  // namespace
}  // namespace weft::testing
