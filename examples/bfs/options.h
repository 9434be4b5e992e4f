// The command line of bfs.
#ifndef WEFT_EXAMPLES_BFS_OPTIONS_H_
#define WEFT_EXAMPLES_BFS_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace bfs {

inline constexpr char kUsage[] =
    "usage: bfs [--graph FILE | --packages FOLDER] [--root NAME] [--roots K]\n"
    "Searches a graph breadth first with all ranks, from one vertex for a look at\n"
    "it and from K random ones for the search rate, and checks each search.\n"
    "  --graph FILE       an edge list: two vertex ids a line; # and % begin comments\n"
    "  --directed         its edges lead from the first to the second only\n"
    "  --packages FOLDER  the dependencies of the Debian packages in FOLDER's package\n"
    "                     lists (default: apt's own, /var/lib/apt/lists)\n"
    "  --root NAME        the vertex to start from (default: one with many edges)\n"
    "  --roots K          how many searches make the search rate (default 16)\n";

struct Options {
  std::string graph;     // Empty: the packages.
  std::string packages;  // Empty: where this machine has them.
  std::string root;      // Empty: any.
  bool directed = false;
  uint64_t roots = 16;
  bool help = false;
};

// kInvalidArgument says what is wrong.
absl::StatusOr<Options> ParseOptions(int argc, const char* const* argv);

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_OPTIONS_H_
