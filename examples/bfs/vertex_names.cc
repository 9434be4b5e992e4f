#include "examples/bfs/vertex_names.h"

#include <algorithm>
#include <numeric>
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
  if (wrong.empty()) return {};
  // A word of 4 letters may have 2 wrong, though seldom the first. Only names with
  // the fewest wrong letters are of use; those that the word begins come next.
  size_t fewest = 1 + wrong.size() / 4;
  std::vector<std::string> misspelt, begun;
  for (const std::string* name : names_) {
    const size_t longer = std::max(name->size(), wrong.size());
    const size_t shorter = std::min(name->size(), wrong.size());
    const size_t distance = longer - shorter > fewest ? SIZE_MAX : EditDistance(wrong, *name);
    if (distance < fewest) misspelt.clear();
    if (distance <= fewest) {
      fewest = distance;
      misspelt.push_back(*name);
    } else if (name->starts_with(wrong)) {
      begun.push_back(*name);
    }
  }
  std::sort(misspelt.begin(), misspelt.end(), [&](const auto& a, const auto& b) {
    return std::pair(a[0] != wrong[0], a) < std::pair(b[0] != wrong[0], b);
  });
  std::sort(begun.begin(), begun.end(), [](const auto& a, const auto& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  misspelt.insert(misspelt.end(), begun.begin(), begun.end());
  if (misspelt.size() > count) misspelt.resize(count);
  return misspelt;
}

}  // namespace bfs
