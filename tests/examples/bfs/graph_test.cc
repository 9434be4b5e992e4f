#include "examples/bfs/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace bfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Graph, EmptyHasNothing) {
  EXPECT_EQ(Graph().vertices(), 0u);
  EXPECT_EQ(Graph().edges(), 0u);
  EXPECT_EQ(Graph(0, {}, Direction::kUndirected).vertices(), 0u);
}

TEST(Graph, DirectedEdgesLeadOneWayInOrder) {
  const Graph graph(4, std::vector<Edge>{{2, 3}, {0, 3}, {0, 1}}, Direction::kDirected);
  EXPECT_EQ(graph.edges(), 3u);
  EXPECT_THAT(graph.Neighbours(0), ElementsAre(1, 3));
  EXPECT_THAT(graph.Neighbours(1), IsEmpty());
  EXPECT_THAT(graph.Neighbours(2), ElementsAre(3));
  EXPECT_THAT(graph.Neighbours(3), IsEmpty());
}

TEST(Graph, UndirectedEdgesLeadBothWaysAndCountOnce) {
  const Graph graph(3, std::vector<Edge>{{0, 1}, {2, 1}}, Direction::kUndirected);
  EXPECT_EQ(graph.edges(), 2u);
  EXPECT_THAT(graph.Neighbours(0), ElementsAre(1));
  EXPECT_THAT(graph.Neighbours(1), ElementsAre(0, 2));
  EXPECT_THAT(graph.Neighbours(2), ElementsAre(1));
}

TEST(Graph, DropsSelfLoopsAndRepetitions) {
  const std::vector<Edge> edges = {{1, 1}, {1, 0}, {0, 1}, {1, 2}, {1, 1}, {1, 2}, {2, 2}, {0, 0}};
  const Graph directed(3, edges, Direction::kDirected);
  EXPECT_EQ(directed.edges(), 3u);
  EXPECT_THAT(directed.Neighbours(0), ElementsAre(1));
  EXPECT_THAT(directed.Neighbours(1), ElementsAre(0, 2));
  EXPECT_THAT(directed.Neighbours(2), IsEmpty());
  const Graph undirected(3, edges, Direction::kUndirected);
  EXPECT_EQ(undirected.edges(), 2u);
  EXPECT_THAT(undirected.Neighbours(1), ElementsAre(0, 2));
}

TEST(Graph, UndirectedOfDirected) {
  const Graph graph =
      Graph(3, std::vector<Edge>{{0, 1}, {1, 0}, {2, 0}}, Direction::kDirected).Undirected();
  EXPECT_EQ(graph.direction(), Direction::kUndirected);
  EXPECT_EQ(graph.edges(), 2u);
  EXPECT_THAT(graph.Neighbours(0), ElementsAre(1, 2));
  EXPECT_EQ(graph.Undirected().edges(), 2u);
}

}  // namespace
}  // namespace bfs
