// Runs weftrun for tests, in processes that can be found and counted: each run
// has a mark of its own in its environment, which everything that it starts
// inherits. Used by one thread.
#ifndef WEFT_TESTS_TOOLS_WEFTRUN_WEFTRUN_PROCESS_H_
#define WEFT_TESTS_TOOLS_WEFTRUN_WEFTRUN_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/base/deadline.h"
#include "runtime/base/unique_fd.h"

namespace weft {

// The path of a program that is in the test's data, given from the workspace's root.
std::string Runfile(const std::string& path);
// Those of the programs under test.
std::string WeftrunPath();
std::string TestRankPath();

struct WeftrunResult {
  bool ended = false;  // In time.
  int wait_status = -1;
  std::string out;
  std::string err;
  double seconds = 0;

  // The exit status; 128 + signal when it was killed; -1 when it did not end.
  int code() const;
};

class WeftrunProcess {
 public:
  struct Setup {
    std::string program = WeftrunPath();
    std::vector<std::string> arguments = {};
    std::vector<std::string> environment = {};  // NAME=VALUE, beside the test's own.
    int stdin_fd = -1;                          // -1: /dev/null.
    int stdout_fd = -1;                         // -1: kept, for the result.
    int stderr_fd = -1;                         // Likewise.
    bool own_group = false;                     // As a shell's job.
  };

  explicit WeftrunProcess(const Setup& setup);
  // Kills what is left of the run.
  ~WeftrunProcess();

  pid_t pid() const { return pid_; }
  // Sends a signal to weftrun, or with it to the group that it leads (own_group);
  // none once it has ended.
  void Signal(int signal) const;
  void SignalGroup(int signal) const;
  const std::string& mark() const { return mark_; }

  // The processes of the run that are no zombies, weftrun and its guard among them.
  std::vector<pid_t> Processes() const;
  // Whether it is a launcher; its guard is none.
  static bool IsWeftrun(pid_t process);
  // The guard; 0 while there is none.
  pid_t Guard() const;
  // Those of `Processes` with a name, as ps shows it.
  std::vector<pid_t> Named(const std::string& name) const;
  static bool IsAbove(pid_t process, pid_t descendant);
  // Those of `Processes` that run the test program (comm is test_rank).
  std::vector<pid_t> Ranks() const;
  // Their numbers, names, states and parents, for messages.
  std::string Describe() const;
  // Whether nothing of the run is left by the deadline.
  bool Gone(Deadline deadline) const;

  WeftrunResult Wait(Deadline deadline = Deadline::After(absl::Seconds(60)));
  // Waits until what has been written is as `done` wants it; false: not in a minute.
  bool AwaitOutput(const std::function<bool(const std::string& out)>& done) const;
  // Until each of `count` ranks has said that it is up, with a line "up".
  bool AwaitUp(size_t count) const;
  // What has been written so far.
  std::string out() const;
  std::string err() const;

 private:
  std::string mark_;
  pid_t pid_ = -1;
  int64_t started_ = 0;
  UniqueFd pidfd_;
  UniqueFd out_;
  UniqueFd err_;
};

// Runs weftrun with `arguments` to its end.
WeftrunResult RunWeftrun(const std::vector<std::string>& arguments);

}  // namespace weft
#endif  // WEFT_TESTS_TOOLS_WEFTRUN_WEFTRUN_PROCESS_H_
