#include "examples/bfs/edge_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace bfs {
namespace {

using testing::ElementsAre;

TEST(EdgeList, ReadsNumbersAndNames) {
  const auto graph = ParseEdgeList("1 2\n18446744073709551615\t1\nalice bob\n", "g.txt");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->names.size(), 5u);
  EXPECT_EQ(graph->names[2], "18446744073709551615");
  EXPECT_EQ(graph->names[4], "bob");
  EXPECT_THAT(graph->edges, ElementsAre(Edge{0, 1}, Edge{2, 0}, Edge{3, 4}));
}

TEST(EdgeList, SkipsCommentsAndEmptyLines) {
  const auto graph = ParseEdgeList(
      "# Directed graph: web.txt\n% sym unweighted\n\n   \n  # indented\n\t1  2  \r\n3 4", "g.txt");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(graph->edges, ElementsAre(Edge{0, 1}, Edge{2, 3}));
  EXPECT_EQ(graph->names[1], "2");
}

TEST(EdgeList, NothingIsAnEmptyGraph) {
  const auto graph = ParseEdgeList("", "g.txt");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->names.size(), 0u);
  EXPECT_TRUE(graph->edges.empty());
}

struct Wrong {
  std::string text;
  std::string message;
};

class EdgeListErrors : public testing::TestWithParam<Wrong> {};

TEST_P(EdgeListErrors, NameFileAndLine) {
  const auto graph = ParseEdgeList(GetParam().text, "g.txt");
  EXPECT_TRUE(absl::IsInvalidArgument(graph.status()));
  EXPECT_EQ(std::string(graph.status().message()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, EdgeListErrors,
    testing::Values(
        Wrong{"x\n", "g.txt:1: expected two vertex ids, found \"x\""},
        Wrong{"# a\n1 2\n\n3", "g.txt:4: expected two vertex ids, found \"3\""},
        Wrong{"1 2\r\n3\r\n", "g.txt:2: expected two vertex ids, found \"3\""},
        Wrong{"1 2 0.5\n", "g.txt:1: expected two vertex ids and nothing else, found \"1 2 0.5\""},
        Wrong{"1 2 # why\n",
              "g.txt:1: expected two vertex ids and nothing else, found \"1 2 # why\""},
        Wrong{std::string("1 2\n\x1f\x8b\x08 \0\n", 10),
              "g.txt:2: expected text, found \"\\x1f\\x8b\\x08\": is the file compressed?"},
        Wrong{std::string("1 \0\n", 4),
              "g.txt:1: expected text, found \"\\x00\": is the file compressed?"},
        Wrong{std::string(100, 'y') + "\n",
              "g.txt:1: expected two vertex ids, found \"" + std::string(60, 'y') + "...\""}));

}  // namespace
}  // namespace bfs
