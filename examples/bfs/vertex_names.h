// The names of a graph's vertices: numbers are given out in the order in which
// names appear. One thread at a time.
#ifndef WEFT_EXAMPLES_BFS_VERTEX_NAMES_H_
#define WEFT_EXAMPLES_BFS_VERTEX_NAMES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "examples/bfs/graph.h"

namespace bfs {

class VertexNames {
 public:
  // The number of `name`: a new one the first time, kNoVertex when all are taken.
  Vertex Intern(std::string_view name);

  // kNoVertex: there is none.
  Vertex Find(std::string_view name) const;

  Vertex size() const { return static_cast<Vertex>(names_.size()); }
  const std::string& operator[](Vertex v) const { return *names_[v]; }

  // At most `count` names that `wrong` may have been meant to be, best first.
  std::vector<std::string> Closest(std::string_view wrong, size_t count) const;

 private:
  absl::node_hash_map<std::string, Vertex> numbers_;
  std::vector<const std::string*> names_;  // The keys, which never move.
};

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_VERTEX_NAMES_H_
