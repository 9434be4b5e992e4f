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
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
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

// Runs `body`, with EXPECTs, in a child in whose mount namespace `change` was made.
void InMountNamespace(const std::function<bool()>& change, void (*body)()) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string missing = EnterMountNamespace();
    if (missing.empty() && !change()) {
      missing = std::string("nothing can be mounted here: ") + strerror(errno);
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
  const WeftrunResult result = RunWeftrun({"--timeout", "100", "-n", "2", Program(), "touch"});
  EXPECT_EQ(result.code(), 0) << result.out << result.err;
  for (const char* rank : {"0", "1"}) {
    const auto told = ReportsOf(ParseReports(result.out), rank);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].what, "OK");
  }
}

void TouchEverythingBesideASmallShm() {
  struct statvfs shm;
  ASSERT_EQ(statvfs("/dev/shm", &shm), 0);
  ASSERT_LE(shm.f_blocks * shm.f_frsize, uint64_t{64} << 20);
  TouchEverything();
}

void TouchEverythingWithoutShm() {
  ASSERT_NE(access("/dev/shm", F_OK), 0);
  TouchEverything();
}

bool MountShm(unsigned long flags, const char* options) {
  return mount("tmpfs", "/dev/shm", "tmpfs", flags, options) == 0;
}

// Puts an empty folder with the usual devices in the place of /dev.
bool ReplaceDev() {
  // Any folder will do until it is moved: mounts are this process's own.
  const std::string dev = ::testing::TempDir();
  if (mount("tmpfs", dev.c_str(), "tmpfs", 0, "size=1m") != 0) return false;
  for (const char* name : {"null", "zero", "urandom"}) {
    const std::string file = dev + "/" + name;
    std::ofstream(file).flush();
    const std::string device = std::string("/dev/") + name;
    if (mount(device.c_str(), file.c_str(), nullptr, MS_BIND, nullptr) != 0) return false;
  }
  return symlink("/proc/self/fd", (dev + "/fd").c_str()) == 0 &&
         mount(dev.c_str(), "/dev", nullptr, MS_MOVE, nullptr) == 0;
}

// The default heap of 256 MiB a rank, all of it touched.
TEST(Case24MemoryLimits, AShmOf64MegabytesDoesNotMatter) {
  InMountNamespace([] { return MountShm(0, "size=64m"); }, TouchEverythingBesideASmallShm);
}

TEST(Case24MemoryLimits, AShmThatCannotBeWrittenDoesNotMatter) {
  InMountNamespace([] { return MountShm(MS_RDONLY, "size=4k"); }, TouchEverythingBesideASmallShm);
}

TEST(Case24MemoryLimits, NoShmAtAllDoesNotMatter) {
  InMountNamespace(ReplaceDev, TouchEverythingWithoutShm);
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

// A cgroup with a limit on memory, in a group that has none; removed at the end.
class MemoryCgroup {
 public:
  explicit MemoryCgroup(uint64_t bytes) {
    const std::string name = "/weft-test-" + std::to_string(getpid());
    const bool version_2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
    const std::string root = version_2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    if (mkdir((root + name).c_str(), 0755) != 0) return;
    folder_ = root + name;
    std::ofstream limit(folder_ + (version_2 ? "/memory.max" : "/memory.limit_in_bytes"));
    limited_ = (limit << bytes << std::flush).good();
  }
  MemoryCgroup(const MemoryCgroup&) = delete;
  MemoryCgroup& operator=(const MemoryCgroup&) = delete;
  ~MemoryCgroup() {
    if (!folder_.empty()) rmdir(folder_.c_str());
  }

  bool limited() const { return limited_; }
  // What a shell does to be in it.
  std::string Enter() const { return "echo $$ > " + folder_ + "/cgroup.procs"; }

 private:
  std::string folder_;
  bool limited_ = false;
};

TEST(Case24MemoryLimits, Cgroup) {
  const MemoryCgroup cgroup(100 << 20);
  if (!cgroup.limited()) GTEST_SKIP() << "no cgroup with a limit on memory can be made here";
  ExpectToldOf(Alone(cgroup.Enter()), "the memory limit of a cgroup");
  ExpectToldOf(Ranks(cgroup.Enter()), "the memory limit of a cgroup");
  ExpectToldOf(Launcher(cgroup.Enter()), "the memory limit of a cgroup");
  // A heap that fits works.
  const RunResult small = Alone(cgroup.Enter() + "; export WEFT_HEAP_BYTES=16M");
  EXPECT_THAT(small.out, Not(HasSubstr("cgroup"))) << small.err;
}

}  // namespace
}  // namespace weft::testing
