#include "examples/bfs/vertex_names.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"

namespace bfs {
namespace {

absl::string_view Key(std::string_view name) { return {name.data(), name.size()}; }

// How many letters to insert, remove or replace to make `b` of `a`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

Vertex VertexNames::Intern(std::string_view name) {
  if (const Vertex known = Find(name); known != kNoVertex || size() == kNoVertex) return known;
  const auto [it, added] = numbers_.try_emplace(std::string(name), size());
  names_.push_back(&it->first);
  return it->second;
}

Vertex VertexNames::Find(std::string_view name) const {
  const auto it = numbers_.find(Key(name));
  return it == numbers_.end() ? kNoVertex : it->second;
}

std::vector<std::string> VertexNames::Closest(std::string_view wrong, size_t count) const {
  // A word of 4 letters may have 2 wrong, though seldom the first; names that it
  // begins come next.
  const size_t tolerance = 1 + wrong.size() / 4;
  std::vector<std::tuple<size_t, bool, std::string_view>> candidates;
  for (const std::string* name : names_) {
    const size_t longer = std::max(name->size(), wrong.size());
    const size_t shorter = std::min(name->size(), wrong.size());
    size_t cost = SIZE_MAX;
    if (longer - shorter <= tolerance) cost = EditDistance(wrong, *name);
    if (cost > tolerance) {
      if (wrong.empty() || !name->starts_with(wrong)) continue;
      cost = tolerance + longer - shorter;
    }
    candidates.emplace_back(cost, !name->starts_with(wrong.substr(0, 1)), *name);
  }
  std::sort(candidates.begin(), candidates.end());
  if (candidates.size() > count) candidates.resize(count);
  std::vector<std::string> closest;
  for (const auto& candidate : candidates) closest.emplace_back(std::get<2>(candidate));
  return closest;
}

}  // namespace bfs
