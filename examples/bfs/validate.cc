#include "examples/bfs/validate.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace bfs {
namespace {

std::string Shown(Vertex v, const Reached& reached) {
  return reached.reached() ? absl::StrCat("vertex ", v, " (parent ", reached.parent, ", level ",
                                          reached.level, ")")
                           : absl::StrCat("vertex ", v, " (not reached)");
}

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::InternalError(absl::StrCat("the search is wrong: ", parts...));
}

// Rules 1 and 2.
absl::Status CheckVertex(Vertex v, const SearchTree& tree, Vertex root) {
  const Reached& own = tree[v];
  if (v == root || own.parent == v || (own.reached() && own.level == 0)) {
    if (v == root && own.parent == v && own.level == 0) return absl::OkStatus();
    return Wrong(Shown(v, own), " where the root is ", root);
  }
  if (!own.reached()) return absl::OkStatus();
  if (own.parent >= tree.size()) return Wrong(Shown(v, own), ": no such parent");
  const Reached& parent = tree[own.parent];
  if (!parent.reached() || parent.level + 1 != own.level) {
    return Wrong(Shown(v, own), " hangs from ", Shown(own.parent, parent));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<uint64_t> CheckPart(const Partition& partition, weft::Rank rank,
                                   absl::FunctionRef<std::span<const Vertex>(Vertex)> neighbours,
                                   const SearchTree& tree, Vertex root) {
  uint64_t tree_edges = 0;
  for (Vertex index = 0; index < partition.Count(rank); ++index) {
    const Vertex from = partition.At(rank, index);
    if (absl::Status status = CheckVertex(from, tree, root); !status.ok()) return status;
    if (!tree[from].reached()) continue;
    for (Vertex to : neighbours(index)) {
      if (!tree[to].reached() || tree[to].level > tree[from].level + 1) {
        return Wrong("an edge leads from ", Shown(from, tree[from]), " to ", Shown(to, tree[to]));
      }
      if (tree[to].parent == from) ++tree_edges;
    }
  }
  return tree_edges;
}

absl::Status CheckTreeEdges(uint64_t tree_edges_found, const SearchTree& tree) {
  const uint64_t reached =
      std::count_if(tree.begin(), tree.end(), [](const Reached& r) { return r.reached(); });
  if (tree_edges_found + 1 == reached) return absl::OkStatus();
  return Wrong(reached, " vertices were reached, but ", tree_edges_found,
               " edges of the graph lead from a parent to its child");
}

absl::Status CheckLevels(const SearchTree& tree, const SearchTree& expected) {
  for (Vertex v = 0; v < expected.size(); ++v) {
    const Reached &found = tree[v], &right = expected[v];
    if (found.reached() != right.reached() || (right.reached() && found.level != right.level)) {
      return Wrong(Shown(v, found), ", but a serial search has ", Shown(v, right));
    }
  }
  return absl::OkStatus();
}

}  // namespace bfs
