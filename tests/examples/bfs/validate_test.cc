#include "examples/bfs/validate.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "examples/bfs/serial_search.h"

namespace bfs {
namespace {

// All rules, as `ranks` ranks together check them.
absl::Status Check(const Graph& graph, const SearchTree& tree, Vertex root, weft::Rank ranks) {
  const Partition partition(graph.vertices(), ranks);
  uint64_t tree_edges = 0;
  for (weft::Rank rank = 0; rank < ranks; ++rank) {
    const auto found = CheckPart(
        partition, rank, [&](Vertex index) { return graph.Neighbours(partition.At(rank, index)); },
        tree, root);
    if (!found.ok()) return found.status();
    tree_edges += *found;
  }
  return CheckTreeEdges(tree_edges, tree);
}

//  0 - 1 - 2 - 3    5 - 6
//   \     /
//    - 4 -
Graph TwoComponents() {
  return Graph(7, std::vector<Edge>{{0, 1}, {1, 2}, {2, 3}, {0, 4}, {4, 2}, {5, 6}},
               Direction::kUndirected);
}

TEST(Validate, AcceptsSerialSearches) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 100; ++trial) {
    const Vertex vertices = 1 + random() % 40;
    const auto vertex = [&] { return static_cast<Vertex>(random() % vertices); };
    std::vector<Edge> edges(random() % 80);
    for (Edge& edge : edges) edge = {vertex(), vertex()};
    const auto direction = trial % 2 == 0 ? Direction::kDirected : Direction::kUndirected;
    const Graph graph(vertices, edges, direction);
    const Vertex root = vertex();
    const SearchTree tree = SerialSearch(graph, root);
    for (weft::Rank ranks : {1, 2, 3, 7, 50}) {
      const absl::Status status = Check(graph, tree, root, ranks);
      ASSERT_TRUE(status.ok()) << status;
    }
    EXPECT_TRUE(CheckLevels(tree, tree).ok());
  }
}

TEST(Validate, AcceptsAnotherParent) {
  SearchTree tree = SerialSearch(TwoComponents(), 0);
  ASSERT_EQ(tree[2].parent, 1u);
  tree[2].parent = 4;
  EXPECT_TRUE(Check(TwoComponents(), tree, 0, 2).ok());
  EXPECT_TRUE(CheckLevels(tree, SerialSearch(TwoComponents(), 0)).ok());
}

struct Damage {
  std::string name;
  std::function<void(SearchTree&)> inflict;  // On a search from 0.
};

class ValidateErrors : public testing::TestWithParam<Damage> {};

TEST_P(ValidateErrors, DamageIsFound) {
  const Graph graph = TwoComponents();
  SearchTree tree = SerialSearch(graph, 0);
  ASSERT_TRUE(Check(graph, tree, 0, 1).ok());
  GetParam().inflict(tree);
  for (weft::Rank ranks : {1, 2, 7}) {
    EXPECT_TRUE(absl::IsInternal(Check(graph, tree, 0, ranks))) << ranks;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ValidateErrors,
    testing::Values(
        Damage{"NothingReached", [](SearchTree& t) { t = SearchTree(t.size()); }},
        Damage{"RootHasAParent", [](SearchTree& t) { t[0] = {.parent = 1, .level = 0}; }},
        Damage{"RootBelowLevel0", [](SearchTree& t) { t[0].level = 1; }},
        Damage{"SecondRoot", [](SearchTree& t) { t[3] = {.parent = 3, .level = 0}; }},
        Damage{"OtherAtLevel0", [](SearchTree& t) { t[1].level = 0; }},
        Damage{"MissesOne", [](SearchTree& t) { t[3] = {}; }},
        Damage{"MissesAnInnerOne", [](SearchTree& t) { t[1] = {}; }},
        Damage{"ReachesTheUnreachable", [](SearchTree& t) { t[5] = {.parent = 3, .level = 4}; }},
        Damage{"ReachesAComponent",
               [](SearchTree& t) {
                 t[5] = {.parent = 3, .level = 4};
                 t[6] = {.parent = 5, .level = 5};
               }},
        Damage{"CycleFarAway",
               [](SearchTree& t) {
                 t[5] = {.parent = 6, .level = 4};
                 t[6] = {.parent = 5, .level = 4};
               }},
        Damage{"LevelTooDeep", [](SearchTree& t) { t[3].level = 4; }},
        Damage{"LevelTooHigh", [](SearchTree& t) { t[3].level = 2; }},
        Damage{"ParentNotAdjacent", [](SearchTree& t) { t[3] = {.parent = 1, .level = 2}; }},
        Damage{"ParentNoVertex", [](SearchTree& t) { t[3].parent = 77; }},
        Damage{"ParentNotReached", [](SearchTree& t) { t[3].parent = 5; }}),
    [](const auto& info) { return info.param.name; });

// A tree whose levels fit but that takes an edge which the graph does not have.
TEST(Validate, TreeEdgeThatIsNoEdgeIsFound) {
  const Graph graph(5, std::vector<Edge>{{0, 1}, {0, 2}, {1, 3}, {2, 4}}, Direction::kDirected);
  SearchTree tree = SerialSearch(graph, 0);
  tree[4].parent = 1;
  EXPECT_TRUE(absl::IsInternal(Check(graph, tree, 0, 1)));
  EXPECT_TRUE(absl::IsInternal(Check(graph, tree, 0, 3)));
}

TEST(Validate, DirectedEdgesCountOneWay) {
  const Graph graph(3, std::vector<Edge>{{0, 1}, {2, 0}}, Direction::kDirected);
  EXPECT_TRUE(Check(graph, SerialSearch(graph, 0), 0, 2).ok());
  EXPECT_FALSE(SerialSearch(graph, 0)[2].reached());
}

TEST(Validate, OtherLevelsThanTheSerialSearchAreFound) {
  const SearchTree right = SerialSearch(TwoComponents(), 0);
  SearchTree tree = right;
  tree[3].level = 4;
  EXPECT_TRUE(absl::IsInternal(CheckLevels(tree, right)));
  tree = right;
  tree[6] = {.parent = 3, .level = 4};
  EXPECT_TRUE(absl::IsInternal(CheckLevels(tree, right)));
  tree = right;
  tree[1] = {};
  EXPECT_TRUE(absl::IsInternal(CheckLevels(tree, right)));
}

TEST(Partition, DealsEveryVertexOnce) {
  for (Vertex vertices : {0u, 1u, 5u, 12u, 13u}) {
    for (weft::Rank ranks : {1u, 2u, 5u, 13u, 20u}) {
      const Partition partition(vertices, ranks);
      std::vector<int> seen(vertices);
      for (weft::Rank rank = 0; rank < ranks; ++rank) {
        EXPECT_LE(partition.Count(rank), partition.Count(0));
        for (Vertex index = 0; index < partition.Count(rank); ++index) {
          const Vertex v = partition.At(rank, index);
          ASSERT_LT(v, vertices);
          EXPECT_EQ(partition.Owner(v), rank);
          EXPECT_EQ(partition.Index(v), index);
          ++seen[v];
        }
      }
      EXPECT_EQ(seen, std::vector<int>(vertices, 1));
    }
  }
}

}  // namespace
}  // namespace bfs
