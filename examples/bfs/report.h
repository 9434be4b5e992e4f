// What bfs tells a person about a search.
#ifndef WEFT_EXAMPLES_BFS_REPORT_H_
#define WEFT_EXAMPLES_BFS_REPORT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "examples/bfs/graph.h"
#include "examples/bfs/search_tree.h"
#include "examples/bfs/vertex_names.h"

namespace bfs {

// How many vertices were reached at each distance.
std::vector<uint64_t> CountByLevel(const SearchTree& tree);

// The counts as a table with bars; `counted` is what is counted: "packages".
std::string DistanceChart(std::span<const uint64_t> counts, std::string_view counted);

// The way to a vertex that is farthest from the root, "a -> b -> c", in lines of
// at most 80 columns where names allow it.
std::string FarthestPath(const SearchTree& tree, const VertexNames& names);

// Of rates, as the Graph500 benchmark averages them.
double HarmonicMean(std::span<const double> rates);

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_REPORT_H_
