#include "examples/bfs/vertex_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace bfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(VertexNames, NumbersNamesInOrder) {
  VertexNames names;
  EXPECT_EQ(names.Intern("b"), 0u);
  EXPECT_EQ(names.Intern("a"), 1u);
  EXPECT_EQ(names.Intern("b"), 0u);
  EXPECT_EQ(names.size(), 2u);
  EXPECT_EQ(names.Find("a"), 1u);
  EXPECT_EQ(names.Find("c"), kNoVertex);
  EXPECT_EQ(names[0], "b");
}

TEST(VertexNames, KeepsManyNames) {
  VertexNames names;
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(names.Intern(std::to_string(i)), Vertex(i));
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(names[i], std::to_string(i));
  VertexNames moved = std::move(names);
  EXPECT_EQ(moved[moved.Find("777")], "777");
}

TEST(VertexNames, SuggestsWhatIsClose) {
  VertexNames names;
  for (const char* name : {"gnome", "gnome-core", "gnome-games", "gnuplot", "nme", "zsh"}) {
    names.Intern(name);
  }
  EXPECT_THAT(names.Closest("gnme", 5), ElementsAre("gnome", "nme"));
  EXPECT_THAT(names.Closest("gnmoe", 5), ElementsAre("gnome", "nme"));
  EXPECT_THAT(names.Closest("gnome-", 5), ElementsAre("gnome", "gnome-core", "gnome-games"));
  EXPECT_THAT(names.Closest("gnome-", 2), ElementsAre("gnome", "gnome-core"));
  EXPECT_THAT(names.Closest("gnome-cor", 5), ElementsAre("gnome-core"));
  EXPECT_THAT(names.Closest("wireshark", 5), IsEmpty());
  EXPECT_THAT(names.Closest("", 5), IsEmpty());
}

}  // namespace
}  // namespace bfs
