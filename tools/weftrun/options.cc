#include "tools/weftrun/options.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace weft {
namespace {

using Apply = std::function<absl::Status(const std::string& value, Options& options)>;

struct Flag {
  const char* name;
  bool takes_value;
  Apply apply;
};

absl::Status Bad(std::string text) { return absl::InvalidArgumentError(std::move(text)); }

absl::Status SetRanks(const std::string& value, Options& options) {
  uint64_t ranks;
  if (!absl::SimpleAtoi(value, &ranks)) {
    return Bad(absl::StrCat("-n takes a number of ranks, not \"", value, "\""));
  }
  if (ranks == 0 || ranks > kMaxRanks) {
    return Bad(absl::StrFormat("-n %d: a job has 1 to %d ranks", ranks, kMaxRanks));
  }
  options.ranks = static_cast<Rank>(ranks);
  return absl::OkStatus();
}

absl::Status AddVariable(const std::string& value, Options& options) {
  const size_t equals = value.find('=');
  std::string name = value.substr(0, equals);
  if (name.empty()) return Bad(absl::StrCat("-x ", value, ": the variable has no name"));
  if (equals != std::string::npos) {
    options.environment.emplace_back(std::move(name), value.substr(equals + 1));
    return absl::OkStatus();
  }
  const char* inherited = getenv(name.c_str());
  if (inherited == nullptr) {
    return Bad(
        absl::StrFormat("-x %s: it is not set here; give it a value with -x %s=VALUE", name, name));
  }
  options.environment.emplace_back(std::move(name), inherited);
  return absl::OkStatus();
}

absl::Status SetDirectory(const std::string& value, Options& options) {
  struct stat file;
  int error = 0;
  if (stat(value.c_str(), &file) != 0) {
    error = errno;
  } else if (!S_ISDIR(file.st_mode)) {
    error = ENOTDIR;
  } else if (access(value.c_str(), X_OK) != 0) {
    error = errno;
  }
  if (error != 0) {
    return Bad(absl::StrFormat("--wdir %s: %s; give a directory that exists and can be entered",
                               value, strerror(error)));
  }
  options.directory = value;
  return absl::OkStatus();
}

absl::Status SetTimeout(const std::string& value, Options& options) {
  double seconds;
  if (!absl::SimpleAtod(value, &seconds) || !(seconds > 0)) {
    return Bad(absl::StrCat("--timeout takes a number of seconds above 0, not \"", value, "\""));
  }
  options.timeout = absl::Seconds(seconds);
  return absl::OkStatus();
}

absl::Status SetStdin(const std::string& value, Options& options) {
  uint64_t rank;
  if (value == "none") {
    options.stdin_rank = std::nullopt;
  } else if (absl::SimpleAtoi(value, &rank) && rank < kMaxRanks) {
    options.stdin_rank = static_cast<Rank>(rank);
  } else {
    return Bad(absl::StrCat("--stdin takes a rank or none, not \"", value, "\""));
  }
  return absl::OkStatus();
}

absl::Status SetBinding(const std::string& value, Options& options) {
  if (value == "cpu" || value == "core") {
    options.binding = Options::Binding::kCpu;
  } else if (value == "none") {
    options.binding = Options::Binding::kNone;
  } else {
    return Bad(absl::StrCat("--bind-to takes cpu or none, not \"", value,
                            "\"; without it the cpus are dealt out evenly"));
  }
  return absl::OkStatus();
}

absl::Status AddHosts(const std::string& value, Options& options) {
  auto hosts = ParseHostList(value);
  if (!hosts.ok()) return hosts.status();
  options.hosts.insert(options.hosts.end(), hosts->begin(), hosts->end());
  return absl::OkStatus();
}

absl::Status AddHostFile(const std::string& value, Options& options) {
  std::ifstream file(value);
  if (!file) {
    return Bad(absl::StrFormat("--hostfile %s: %s; give a file with a host's name on each line",
                               value, strerror(errno)));
  }
  auto hosts = ParseHostFile(value, std::string(std::istreambuf_iterator<char>(file), {}));
  if (!hosts.ok()) return hosts.status();
  options.hosts.insert(options.hosts.end(), hosts->begin(), hosts->end());
  return absl::OkStatus();
}

absl::Status SetRanksPerHost(const std::string& value, Options& options) {
  uint32_t ranks;
  if (!absl::SimpleAtoi(value, &ranks) || ranks == 0 || ranks > kMaxRanks) {
    return Bad(absl::StrFormat("-N takes the number of ranks on each host, 1 to %d, not \"%s\"",
                               kMaxRanks, value));
  }
  options.ranks_per_host = ranks;
  return absl::OkStatus();
}

absl::Status SetMapping(const std::string& value, Options& options) {
  if (value != "slot" && value != "node") {
    return Bad(
        absl::StrCat("--map-by takes slot (fill a host, then the next) or node (deal them "
                     "out in turn), not \"",
                     value, "\""));
  }
  options.by_node = value == "node";
  return absl::OkStatus();
}

absl::Status SetOnFailure(const std::string& value, Options& options) {
  if (value != "end" && value != "notify") {
    return Bad(
        absl::StrCat("--on-failure takes end (the job ends when a rank fails) or notify (those "
                     "that survive are told, and go on), not \"",
                     value, "\""));
  }
  options.survivors_go_on = value == "notify";
  return absl::OkStatus();
}

absl::Status SetAgent(const std::string& value, Options& options) {
  if (value.find_first_not_of(' ') == std::string::npos) {
    return Bad(
        "--agent takes a command that runs another on a host, as ssh does: it is called "
        "with the host and the command as its last two arguments");
  }
  options.agent = value;
  return absl::OkStatus();
}

absl::Status SetRemoteWeftrun(const std::string& value, Options& options) {
  options.remote_weftrun = value;
  return absl::OkStatus();
}

absl::Status SetInterface(const std::string& value, Options& options) {
  if (value.empty()) return Bad("--interface takes the name of one, or how its address begins");
  options.environment.emplace_back("WEFT_INTERFACE", value);
  return absl::OkStatus();
}

absl::Status SetNodes(const std::string& value, Options& options) {
  if (!absl::SimpleAtoi(value, &options.pretended_nodes) || options.pretended_nodes == 0) {
    return Bad(absl::StrCat("--pretend-nodes takes a number above 0, not \"", value, "\""));
  }
  return absl::OkStatus();
}

Flag Switch(const char* name, bool Options::*field) {
  return {name, false, [field](const std::string&, Options& options) {
            options.*field = true;
            return absl::OkStatus();
          }};
}

const std::vector<Flag>& Flags() {
  static const std::vector<Flag> flags = {
      {"n", true, SetRanks},
      {"np", true, SetRanks},
      {"x", true, AddVariable},
      {"wdir", true, SetDirectory},
      {"wd", true, SetDirectory},
      {"timeout", true, SetTimeout},
      {"stdin", true, SetStdin},
      {"bind-to", true, SetBinding},
      {"pretend-nodes", true, SetNodes},
      {"host", true, AddHosts},
      {"H", true, AddHosts},
      {"hostfile", true, AddHostFile},
      {"N", true, SetRanksPerHost},
      {"ppn", true, SetRanksPerHost},
      {"map-by", true, SetMapping},
      {"on-failure", true, SetOnFailure},
      {"agent", true, SetAgent},
      {"remote-weftrun", true, SetRemoteWeftrun},
      {"interface", true, SetInterface},
      Switch("tag-output", &Options::tag_output),
      Switch("v", &Options::verbose),
      Switch("verbose", &Options::verbose),
      Switch("dry-run", &Options::dry_run),
      Switch("help", &Options::help),
      Switch("h", &Options::help),
  };
  return flags;
}

const Flag* FindFlag(const std::string& name) {
  for (const Flag& flag : Flags()) {
    if (name == flag.name) return &flag;
  }
  return nullptr;
}

// Which host each rank runs on, and how many ranks there are where -n does not say.
absl::Status Place(Options& options) {
  if (options.hosts.empty() && !options.ranks_per_host) {
    if (options.ranks == 0) return Bad("how many ranks? Say so with -n N");
    options.placement = {.hosts = {},
                         .map = NodeMap::Blocks(options.ranks, options.pretended_nodes)};
    return absl::OkStatus();
  }
  if (options.pretended_nodes > 1) {
    return Bad("--pretend-nodes is for one host: leave it out, or --host, --hostfile and -N");
  }
  auto placement =
      PlaceRanks(options.hosts, options.ranks, options.ranks_per_host, options.by_node);
  if (!placement.ok()) return placement.status();
  options.placement = *std::move(placement);
  options.ranks = options.placement.map.size();
  return absl::OkStatus();
}

absl::Status CheckWhole(Options& options) {
  if (options.pretended_nodes > options.ranks && options.ranks > 0) {
    return Bad(absl::StrFormat("--pretend-nodes %u: %d ranks run on at most as many nodes",
                               options.pretended_nodes, options.ranks));
  }
  if (absl::Status placed = Place(options); !placed.ok()) return placed;
  if (options.command.empty()) {
    return Bad("which program? Name it after the flags: weftrun -n 4 ./program");
  }
  if (options.stdin_rank && *options.stdin_rank >= options.ranks) {
    return Bad(absl::StrFormat("--stdin %d: the ranks of this job are 0 to %d", *options.stdin_rank,
                               options.ranks - 1));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  if (const char* place = getenv("WEFT_REMOTE_WEFTRUN"); place != nullptr) {
    options.remote_weftrun = place;
  }
  size_t at = 0;
  for (; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    if (argument == "--") {
      ++at;
      break;
    }
    if (argument.size() < 2 || argument[0] != '-') break;
    const size_t dashes = argument[1] == '-' ? 2 : 1;
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(dashes, equals - dashes);
    const Flag* flag = FindFlag(name);
    if (flag == nullptr) return Bad(absl::StrCat("there is no flag ", argument));
    std::string value;
    if (!flag->takes_value) {
      if (equals != std::string::npos) {
        return Bad(absl::StrCat(argument, ": this flag takes no value"));
      }
    } else if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (++at < arguments.size()) {
      value = arguments[at];
    } else {
      return Bad(absl::StrCat(argument, " needs a value after it"));
    }
    if (absl::Status status = flag->apply(value, options); !status.ok()) return status;
    if (options.help) return options;
  }
  options.command.assign(arguments.begin() + static_cast<ptrdiff_t>(at), arguments.end());
  if (absl::Status status = CheckWhole(options); !status.ok()) return status;
  return options;
}

}  // namespace weft
