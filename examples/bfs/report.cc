#include "examples/bfs/report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace bfs {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kLongestBar = 50;
constexpr absl::string_view kIndent = "  ";
constexpr absl::string_view kArrow = " -> ";

std::vector<Vertex> PathTo(const SearchTree& tree, Vertex end) {
  std::vector<Vertex> path = {end};
  while (tree[path.back()].parent != path.back()) path.push_back(tree[path.back()].parent);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace

std::vector<uint64_t> CountByLevel(const SearchTree& tree) {
  std::vector<uint64_t> counts;
  for (const Reached& reached : tree) {
    if (!reached.reached()) continue;
    if (counts.size() <= reached.level) counts.resize(reached.level + 1);
    ++counts[reached.level];
  }
  return counts;
}

std::string DistanceChart(std::span<const uint64_t> counts, std::string_view counted) {
  std::string chart =
      absl::StrFormat("  distance  %10s\n", absl::string_view(counted.data(), counted.size()));
  const uint64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  for (size_t level = 0; level < counts.size(); ++level) {
    // Rounded up: what is there shows.
    const size_t bar = (counts[level] * kLongestBar + most - 1) / most;
    absl::StrAppendFormat(&chart, "  %8d  %10d  %s\n", level, counts[level], std::string(bar, '#'));
  }
  return chart;
}

std::string FarthestPath(const SearchTree& tree, const VertexNames& names) {
  const auto distance = [](const Reached& r) { return r.reached() ? r.level + 1 : 0; };
  const auto farthest = std::max_element(
      tree.begin(), tree.end(),
      [&](const Reached& a, const Reached& b) { return distance(a) < distance(b); });
  if (farthest == tree.end() || !farthest->reached()) return {};
  const std::vector<Vertex> path = PathTo(tree, static_cast<Vertex>(farthest - tree.begin()));
  std::string text, line = absl::StrCat(kIndent, names[path.front()]);
  for (Vertex v : std::span(path).subspan(1)) {
    if (line.size() + kArrow.size() + names[v].size() > kColumns) {
      absl::StrAppend(&text, line, "\n");
      line = std::string(kIndent);
    }
    absl::StrAppend(&line, kArrow, names[v]);
  }
  return absl::StrCat(text, line, "\n");
}

double HarmonicMean(std::span<const double> rates) {
  double inverses = 0;
  for (double rate : rates) inverses += 1 / rate;
  return rates.empty() ? 0 : static_cast<double>(rates.size()) / inverses;
}

}  // namespace bfs
