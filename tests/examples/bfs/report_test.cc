#include "examples/bfs/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "examples/bfs/serial_search.h"

namespace bfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Report, CountsByLevel) {
  const Graph graph(6, std::vector<Edge>{{2, 0}, {2, 1}, {1, 4}, {0, 4}, {4, 5}},
                    Direction::kDirected);
  EXPECT_THAT(CountByLevel(SerialSearch(graph, 2)), ElementsAre(1, 2, 1, 1));
  EXPECT_THAT(CountByLevel(SerialSearch(graph, 3)), ElementsAre(1));
  EXPECT_THAT(CountByLevel(SearchTree(3)), IsEmpty());
}

TEST(Report, ChartScalesItsBars) {
  EXPECT_EQ(DistanceChart(std::vector<uint64_t>{1, 2000, 1000}, "packages"),
            "  distance    packages\n"
            "         0           1  #\n"
            "         1        2000  ##################################################\n"
            "         2        1000  #########################\n");
}

TEST(Report, PathLeadsToTheFarthest) {
  VertexNames names;
  for (const char* name : {"a", "b", "c", "d"}) names.Intern(name);
  const Graph graph(4, std::vector<Edge>{{1, 0}, {0, 2}}, Direction::kDirected);
  EXPECT_EQ(FarthestPath(SerialSearch(graph, 1), names), "  b -> a -> c\n");
  EXPECT_EQ(FarthestPath(SerialSearch(graph, 3), names), "  d\n");
}

TEST(Report, LongPathsAreWrapped) {
  VertexNames names;
  std::vector<Edge> edges;
  for (Vertex v = 0; v < 40; ++v) {
    names.Intern("package-" + std::to_string(v));
    if (v > 0) edges.push_back({v - 1, v});
  }
  const Graph graph(40, edges, Direction::kDirected);
  const std::string path = FarthestPath(SerialSearch(graph, 0), names);
  std::istringstream lines(path);
  int arrows = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u);
    EXPECT_GT(line.size(), 40u);
    arrows += static_cast<int>(std::count(line.begin(), line.end(), '>'));
  }
  EXPECT_EQ(arrows, 39);
}

TEST(Report, HarmonicMean) {
  EXPECT_DOUBLE_EQ(HarmonicMean(std::vector<double>{2, 6}), 3);
  EXPECT_DOUBLE_EQ(HarmonicMean({}), 0);
}

}  // namespace
}  // namespace bfs
