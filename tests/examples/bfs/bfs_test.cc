// bfs as users run it: what it finds on graphs that are known or searched here,
// and what it says of input that is wrong.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "examples/bfs/edge_list.h"
#include "examples/bfs/package_lists.h"
#include "examples/bfs/report.h"
#include "examples/bfs/serial_search.h"
#include "tests/examples/run_job.h"

namespace bfs {
namespace {

using examples::JobResult;
using examples::RunJob;

constexpr char kBfs[] = "examples/bfs/bfs";

std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

bool Says(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

struct Case {
  std::string name;
  std::string edges;
  std::string root;
};

std::string Path(int vertices) {
  std::string edges;
  for (int v = 1; v < vertices; ++v) {
    edges += std::to_string(v - 1) + " " + std::to_string(v) + "\n";
  }
  return edges;
}

std::string Star(int leaves) {
  std::string edges;
  for (int v = 1; v <= leaves; ++v) edges += "hub leaf" + std::to_string(v) + "\n";
  return edges;
}

std::string RandomEdges(int vertices, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::string edges;
  for (int i = 0; i < count; ++i) {
    // Low numbers have more edges than high ones.
    const auto from = random() % vertices, to = random() % (1 + random() % vertices);
    edges += std::to_string(from) + " " + std::to_string(to) + "\n";
  }
  return edges;
}

const Case kCases[] = {
    {"Path", Path(50), "0"},
    {"PathFromItsMiddle", Path(50), "20"},
    {"Star", Star(40), "hub"},
    {"StarFromALeaf", Star(40), "leaf7"},
    {"Disconnected", "a b\nb c\nx y\ny z\nz x\n", "x"},
    {"SelfLoopsAndRepetitions", "a a\na b\na b\nb a\nb b\nb c\nc c\n", "a"},
    {"OneVertex", "only only\n", "only"},
    {"OneEdge", "a b\n", "b"},
    {"FewerVerticesThanRanks", "a b\nb c\nc a\n", "c"},
    {"Random", RandomEdges(2000, 6000, 1), "0"},
    {"RandomSparse", RandomEdges(500, 400, 2), "1"},
    {"RandomDense", RandomEdges(60, 3000, 3), "5"},
};

class KnownGraph : public testing::TestWithParam<std::tuple<Case, int, bool>> {};

TEST_P(KnownGraph, IsSearchedAsByOneThread) {
  const auto& [graph_case, ranks, directed] = GetParam();
  const auto named = ParseEdgeList(graph_case.edges, "edges");
  ASSERT_TRUE(named.ok()) << named.status();
  const Graph graph(named->names.size(), named->edges,
                    directed ? Direction::kDirected : Direction::kUndirected);
  const Vertex root = named->names.Find(graph_case.root);
  ASSERT_NE(root, kNoVertex);
  const auto counts = CountByLevel(SerialSearch(graph, root));

  std::vector<std::string> arguments = {"--graph=" + WriteFile("graph.txt", graph_case.edges),
                                        "--root", graph_case.root, "--roots=3"};
  if (directed) arguments.push_back("--directed");
  const JobResult job = RunJob(ranks, kBfs, arguments);
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_TRUE(Says(job.out, "graph.txt: " + std::to_string(graph.vertices()) + " vertices, " +
                                std::to_string(graph.edges()) + " edges\n"))
      << job.out;
  EXPECT_TRUE(Says(job.out, DistanceChart(counts, "vertices"))) << job.out;
  const bool has_edges = graph.edges() != 0;
  EXPECT_TRUE(Says(job.out, has_edges ? "verified: " : "verified: 1 search,")) << job.out;
  EXPECT_EQ(Says(job.out, " edges/s with " + std::to_string(ranks) + " rank"), has_edges)
      << job.out;
}

INSTANTIATE_TEST_SUITE_P(All, KnownGraph,
                         testing::Combine(testing::ValuesIn(kCases), testing::Values(1, 2, 3, 4, 7),
                                          testing::Bool()),
                         [](const auto& info) {
                           return std::get<0>(info.param).name +
                                  (std::get<2>(info.param) ? "Directed" : "") +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST(Bfs, ShowsAPath) {
  const JobResult job =
      RunJob(2, kBfs, {"--graph", WriteFile("g.txt", "a b\nb c\nc d\n"), "--root=a"});
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_TRUE(Says(job.out, "a reaches 4 of 4 vertices")) << job.out;
  EXPECT_TRUE(Says(job.out, "The farthest, 3 steps away:\n\n  a -> b -> c -> d\n")) << job.out;
}

TEST(Bfs, StartsWhereMostEdgesAre) {
  const JobResult job = RunJob(2, kBfs, {"--graph", WriteFile("g.txt", "x y\n" + Star(5))});
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_TRUE(Says(job.out, "hub reaches 6 of 8 vertices")) << job.out;
}

TEST(Bfs, FindsNothingToSearchInAnEmptyGraph) {
  for (const char* text : {"", "# only a comment\n"}) {
    const JobResult job = RunJob(3, kBfs, {"--graph", WriteFile("g.txt", text)});
    EXPECT_EQ(job.code, 0) << job.err;
    EXPECT_TRUE(Says(job.out, "g.txt: 0 vertices, 0 edges\nnothing to search\n")) << job.out;
    EXPECT_FALSE(Says(job.out, "verified"));
  }
}

TEST(Bfs, SearchesPackages) {
  const std::string folder = testing::TempDir() + "/packages";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/main_Packages")
      << "Package: gnome\nDepends: mta | shell (>= 40),\n files:any\n\n"
         "Package: shell\nPre-Depends: libc\n\nPackage: libc\n\nPackage: files\n\n"
         "Package: exim\nProvides: mta\nRecommends: libc\n\nPackage: alone\n";
  const JobResult job = RunJob(4, kBfs, {"--packages", folder});
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_TRUE(Says(job.out, "packages (1 list): 6 packages, 5 dependencies\n")) << job.out;
  EXPECT_TRUE(Says(job.out, "gnome reaches 5 of 6 packages")) << job.out;
  EXPECT_TRUE(Says(job.out, DistanceChart(std::vector<uint64_t>{1, 3, 1}, "packages"))) << job.out;
  EXPECT_TRUE(Says(job.out, "verified: ")) << job.out;
}

// A heap that is too small is told with the one that is not.
TEST(Bfs, TellsHowMuchHeapItNeeds) {
  const std::string graph = WriteFile("g.txt", RandomEdges(20000, 60000, 4));
  const JobResult small = RunJob(2, kBfs, {"--graph", graph}, {"-x", "WEFT_HEAP_BYTES=262144"});
  EXPECT_NE(small.code, 0);
  const std::string says = "set WEFT_HEAP_BYTES=";
  const size_t at = small.err.find(says);
  ASSERT_NE(at, std::string::npos) << small.err;
  EXPECT_EQ(small.err.find(says, at + 1), std::string::npos) << small.err;
  const std::string bytes = std::to_string(std::stoull(small.err.substr(at + says.size())));
  const JobResult enough =
      RunJob(2, kBfs, {"--graph", graph, "--roots=1"}, {"-x", "WEFT_HEAP_BYTES=" + bytes});
  EXPECT_EQ(enough.code, 0) << enough.err;
  EXPECT_TRUE(Says(enough.out, "verified: 2 searches")) << enough.out;
}

// Where nothing completes at once, and not in order.
TEST(Bfs, SearchesThroughATransportThatDelays) {
  for (const char* seed : {"1", "2", "3"}) {
    const JobResult job = RunJob(
        3, kBfs, {"--graph", WriteFile("g.txt", RandomEdges(300, 900, 6)), "--root=0", "--roots=2"},
        {"-x", std::string("WEFT_FAULT=") + seed});
    EXPECT_EQ(job.code, 0) << job.err;
    EXPECT_TRUE(Says(job.out, "verified: 3 searches")) << job.out;
  }
}

struct Mistake {
  std::string name;
  std::vector<std::string> arguments;
  std::string says;
};

class Mistakes : public testing::TestWithParam<Mistake> {};

// One line by one rank, and the job fails.
TEST_P(Mistakes, AreToldOnce) {
  std::vector<std::string> arguments = GetParam().arguments;
  for (std::string& argument : arguments) {
    if (argument.starts_with("=")) argument = WriteFile("g.txt", argument.substr(1));
  }
  const JobResult job = RunJob(3, kBfs, arguments);
  EXPECT_NE(job.code, 0);
  EXPECT_NE(job.code, 124);
  EXPECT_EQ(job.out, "");
  const size_t first = job.err.find(GetParam().says);
  ASSERT_NE(first, std::string::npos) << job.err;
  EXPECT_EQ(job.err.find(GetParam().says, first + 1), std::string::npos) << job.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, Mistakes,
    testing::Values(
        Mistake{"OneId", {"--graph", "=1 2\n\nx\n"}, "g.txt:3: expected two vertex ids, found"},
        Mistake{"ThreeFields", {"--graph", "=1 2 3\n"}, "g.txt:1: expected two vertex ids and no"},
        Mistake{"NoText", {"--graph", "=1 2\n\x1f\x8b\x08 1\n"}, "g.txt:2: expected text"},
        Mistake{"NoFile", {"--graph=/no/such/file"}, "/no/such/file: No such file or directory"},
        Mistake{"NoFolder", {"--packages=/no/such/folder"}, "/no/such/folder: No such file"},
        Mistake{"NoLists", {"--packages=/proc/self/fd"}, "/proc/self/fd: no package lists"},
        Mistake{"NoSuchRoot",
                {"--graph", "=alice bob\n", "--root=alcie"},
                "there is no \"alcie\" among the 2 vertices; did you mean alice?"},
        Mistake{"BothInputs", {"--graph=a", "--packages=b"}, "--graph and --packages exclude"},
        Mistake{"DirectedPackages", {"--directed"}, "--directed is for --graph"},
        Mistake{"NoRoots", {"--roots=0"}, "--roots needs a whole number of at least 1"},
        Mistake{"Unknown", {"--frobnicate"}, "unknown option --frobnicate"}),
    [](const auto& info) { return info.param.name; });

TEST(Bfs, MalformedPackageListIsToldWithItsLine) {
  const std::string folder = testing::TempDir() + "/malformed";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/x_Packages") << "Package: a\nDepends: b (>= 1\n";
  const JobResult job = RunJob(2, kBfs, {"--packages", folder});
  EXPECT_NE(job.code, 0);
  EXPECT_TRUE(Says(job.err, "x_Packages:2: no closing bracket")) << job.err;
}

// The default graph, where there is one.
TEST(Bfs, SearchesThisMachinesPackages) {
  if (!FindPackageLists(kAptLists).ok() && !std::filesystem::exists(kDpkgStatus)) {
    GTEST_SKIP() << "not a Debian machine";
  }
  const JobResult job = RunJob(4, kBfs, {"--roots=2"});
  EXPECT_EQ(job.code, 0) << job.err;
  EXPECT_TRUE(Says(job.out, " dependencies\n")) << job.out;
  EXPECT_TRUE(Says(job.out, "verified: 3 searches")) << job.out;
  EXPECT_TRUE(Says(job.out, " edges/s")) << job.out;
}

}  // namespace
}  // namespace bfs
