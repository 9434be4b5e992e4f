#include "examples/bfs/package_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// "a->b" for each edge of the packages in `lists`.
std::vector<std::string> Edges(const std::vector<std::string>& lists) {
  PackageGraphBuilder builder;
  for (const std::string& list : lists) {
    const absl::Status status = builder.Add(list, "P");
    EXPECT_TRUE(status.ok()) << status;
  }
  const NamedEdges named = std::move(builder).Build();
  const Graph graph(named.names.size(), named.edges, Direction::kDirected);
  std::vector<std::string> edges;
  for (Vertex from = 0; from < graph.vertices(); ++from) {
    for (Vertex to : graph.Neighbours(from)) {
      edges.push_back(named.names[from] + "->" + named.names[to]);
    }
  }
  return edges;
}

TEST(PackageGraph, DependsPreDependsRecommendsAndNoOthers) {
  EXPECT_THAT(Edges({"Package: a\nDepends: b (>= 1), c | d\nPre-Depends: e\nRecommends: f:any\n"
                     "Suggests: g\nConflicts: g\n\n"
                     "Package: b\n\nPackage: c\n\nPackage: d\n\nPackage: e\n\nPackage: f\n\n"
                     "Package: g\n"}),
              UnorderedElementsAre("a->b", "a->c", "a->d", "a->e", "a->f"));
}

TEST(PackageGraph, VirtualPackagesStandForTheirProviders) {
  EXPECT_THAT(Edges({"Package: mutt\nDepends: mta\n\n"
                     "Package: exim\nProvides: mta, other\n\n"
                     "Package: postfix\nProvides: mta (= 1)\nDepends: mta\n"}),
              UnorderedElementsAre("mutt->exim", "mutt->postfix", "postfix->exim"));
}

TEST(PackageGraph, RealPackagesStandForThemselves) {
  EXPECT_THAT(Edges({"Package: a\nDepends: b\n\nPackage: c\nProvides: b\n\nPackage: b\n"}),
              ElementsAre("a->b"));
}

TEST(PackageGraph, WhatNothingProvidesIsLeftOut) {
  EXPECT_THAT(Edges({"Package: a\nDepends: nowhere | b\n\nPackage: b\n"}), ElementsAre("a->b"));
}

TEST(PackageGraph, ListsAndVersionsAreMerged) {
  EXPECT_THAT(Edges({"Package: a\nVersion: 1\nDepends: b\n\nPackage: b\n",
                     "Package: c\n\nPackage: a\nVersion: 2\nDepends: c\n"}),
              UnorderedElementsAre("a->b", "a->c"));
}

TEST(PackageGraph, NothingIsAnEmptyGraph) { EXPECT_THAT(Edges({"", "\n"}), IsEmpty()); }

TEST(PackageGraph, ErrorsNameFileAndLine) {
  EXPECT_EQ(std::string(PackageGraphBuilder().Add("Package: a\n\nVersion: 1\n", "P").message()),
            "P:3: a stanza without the name of its Package");
  EXPECT_EQ(std::string(PackageGraphBuilder().Add("Package: \n", "P").message()),
            "P:1: a stanza without the name of its Package");
  EXPECT_EQ(
      std::string(PackageGraphBuilder().Add("Package: a\nDepends: b,\n c d\n", "P").message()),
      "P:3: expected ',' or '|' at \"d\"");
}

}  // namespace
}  // namespace bfs
