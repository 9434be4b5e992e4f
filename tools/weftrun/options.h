// weftrun's command line.
//
// The parser is our own: mpirun's users type -np, flags with one dash or two,
// and everything after the program's name belongs to the program, which Abseil's
// flags, with their global registry and their reordering, do not do.
#ifndef WEFT_TOOLS_WEFTRUN_OPTIONS_H_
#define WEFT_TOOLS_WEFTRUN_OPTIONS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/weftrun/hosts.h"
#include "weft/rank.h"

namespace weft {

struct Options {
  enum class Binding : uint8_t {
    kEven,  // The allowed cpus are dealt out evenly, at least one a rank.
    kCpu,   // One cpu a rank.
    kNone,
  };

  Rank ranks = 0;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string directory;  // Empty: the caller's.
  bool tag_output = false;
  absl::Duration timeout = absl::InfiniteDuration();
  std::optional<Rank> stdin_rank = 0;  // nullopt: none.
  Binding binding = Binding::kEven;
  uint32_t pretended_nodes = 1;  // The ranks are told that they run on so many.
  std::vector<Host> hosts;       // As named by --host and --hostfile; none: this machine alone.
  std::optional<uint32_t> ranks_per_host;
  bool survivors_go_on = false;  // --on-failure
  bool by_node = false;          // --map-by: neighbours on different hosts.
  // Shell words that run a command on a host, which they get as two more words.
  std::string agent = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15";
  std::string remote_weftrun;  // Where weftrun is on the other hosts; empty: as here, or the PATH.
  bool verbose = false;
  bool dry_run = false;
  bool help = false;  // Then nothing else counts.

  std::vector<std::string> command;  // The program and its arguments.

  Placement placement;  // What follows from the above.
};

// `arguments` without the program's own name. Errors are one line with a cure.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments);

// What --help prints.
extern const char kHelp[];

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_OPTIONS_H_
