// The hosts of a job: how the user names them, and which ranks run where. Pure
// functions, but for the last two.
#ifndef WEFT_TOOLS_WEFTRUN_HOSTS_H_
#define WEFT_TOOLS_WEFTRUN_HOSTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/node_map.h"
#include "weft/rank.h"

namespace weft {

struct Host {
  std::string name;
  uint32_t slots = 1;  // How many ranks it has room for; more share it.

  friend bool operator==(const Host&, const Host&) = default;
};

// "a,b:2,[2001:db8::1]:4". Errors are one line with a cure, here and below.
absl::StatusOr<std::vector<Host>> ParseHostList(std::string_view list);

// Lines "name" or "name slots=N"; # starts a comment. `file` is for messages.
absl::StatusOr<std::vector<Host>> ParseHostFile(std::string_view file, std::string_view text);

// Where the ranks run.
struct Placement {
  std::vector<std::string> hosts;  // By node, each once, all with ranks. None: this machine.
  NodeMap map{{}};
};

// Deals `ranks` (0: as many as there is room for) out to `hosts` (none: this machine), each
// host as often as it is named. Room: the slots, or `per_host`, which is never exceeded;
// ranks beyond all slots are dealt out in turn. `by_node`: one rank to each host in turn.
absl::StatusOr<Placement> PlaceRanks(const std::vector<Host>& hosts, Rank ranks,
                                     std::optional<uint32_t> per_host, bool by_node);

// This machine's host name.
std::string OwnHostName();

// Whether a name is this machine's: localhost, or its own host name, short or whole.
bool IsThisHost(std::string_view name);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_HOSTS_H_
