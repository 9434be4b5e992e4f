// What the guard of one host has to do: which ranks it starts, and how. The
// launcher makes it; a keeper on another host receives it as bytes. Pure
// functions; any thread.
#ifndef WEFT_TOOLS_WEFTRUN_NODE_PLAN_H_
#define WEFT_TOOLS_WEFTRUN_NODE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/node_map.h"
#include "tools/weftrun/options.h"

namespace weft {

struct NodePlan {
  // Which of the job's hosts this is; nullopt: the only one, and the launcher's own. Then the
  // guard starts all ranks, is the job's authority itself, and `map` is what they believe.
  std::optional<uint32_t> node;
  std::string host;  // By the name that messages use.
  NodeMap map{{}};
  // What concerns ranks: environment, directory, stdin_rank, binding, verbose, survivors_go_on,
  // command, and in the only host's plan `timeout`. Nothing else counts here.
  Options options;

  // The ranks that this host starts, ascending.
  std::vector<Rank> Ranks() const;
};

std::string EncodeNodePlan(const NodePlan& plan);
// kInvalidArgument when it is none.
absl::StatusOr<NodePlan> DecodeNodePlan(std::string_view bytes);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_NODE_PLAN_H_
