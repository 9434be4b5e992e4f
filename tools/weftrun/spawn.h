// Starts one rank: fork, the child's set-up, exec. Called by the guard's main
// thread alone: the ranks die with the thread that forked them
// (PR_SET_PDEATHSIG follows the thread, not the process).
#ifndef WEFT_TOOLS_WEFTRUN_SPAWN_H_
#define WEFT_TOOLS_WEFTRUN_SPAWN_H_

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/node_map.h"
#include "runtime/base/unique_fd.h"
#include "tools/weftrun/options.h"
#include "weft/rank.h"

namespace weft {

struct SpawnFailure {
  enum class Stage : uint8_t { kDirectory, kExec };
  Rank rank;
  Stage stage;
  int error;
};

// Where children that cannot go on leave word, since their exit status alone
// could be the program's own.
class SpawnFailures {
 public:
  // False, with errno, when there is no descriptor left.
  bool Open();
  // A child's end of it, until CloseWriter.
  int writer() const { return writer_.get(); }
  void CloseWriter() { writer_.reset(); }
  // Of a rank that has ended.
  std::optional<SpawnFailure> Of(Rank rank);

 private:
  UniqueFd reader_;
  UniqueFd writer_;
  std::vector<SpawnFailure> seen_;
};

// What is the same for all ranks.
struct SpawnContext {
  const Options* options;
  const NodeMap* map;
  sigset_t signal_mask;  // The one that weftrun was started with,
  rlimit open_files;     // and its limit on open files.
  int failures;          // SpawnFailures::writer()
};

// What is one rank's own. Descriptors are above 2; the child gets copies.
struct SpawnRank {
  Rank rank;
  bool inherits_stdin;  // Else `empty_stdin` is its standard input.
  int empty_stdin;
  int stdout_fd;
  int stderr_fd;
  int socket;
  std::vector<int> cpus;  // Empty: not bound.
};

// The process, a leader of its own process group; -1 with errno when there
// could be none. A child that cannot go on leaves a SpawnFailure and ends with
// the status that the job is to end with.
pid_t Spawn(const SpawnContext& context, const SpawnRank& rank);

// The failure in words.
std::string Describe(const SpawnFailure& failure, const Options& options);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_SPAWN_H_
