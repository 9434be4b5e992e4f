#include "tools/weftrun/node_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using ::testing::ElementsAre;

NodePlan Example() {
  NodePlan plan = {.node = 1, .host = "b", .map = NodeMap({0, 1, 0, 1}), .options = {}};
  plan.options.environment = {{"A", "b=c"}, {"E", ""}};
  plan.options.directory = "/tmp/some where";
  plan.options.stdin_rank = 3;
  plan.options.binding = Options::Binding::kCpu;
  plan.options.verbose = true;
  plan.options.command = {"./p", "", "an argument\n"};
  return plan;
}

TEST(NodePlanTest, SurvivesTheWay) {
  const NodePlan plan = Example();
  const auto there = DecodeNodePlan(EncodeNodePlan(plan));
  ASSERT_TRUE(there.ok()) << there.status();
  EXPECT_EQ(there->node, 1u);
  EXPECT_EQ(there->host, "b");
  EXPECT_EQ(there->map.table(), plan.map.table());
  EXPECT_THAT(there->Ranks(), ElementsAre(1, 3));
  EXPECT_EQ(there->options.ranks, 4u);
  EXPECT_EQ(there->options.environment, plan.options.environment);
  EXPECT_EQ(there->options.directory, plan.options.directory);
  EXPECT_EQ(there->options.stdin_rank, plan.options.stdin_rank);
  EXPECT_EQ(there->options.binding, plan.options.binding);
  EXPECT_TRUE(there->options.verbose);
  EXPECT_EQ(there->options.command, plan.options.command);
}

TEST(NodePlanTest, TheOnlyHostStartsAllRanks) {
  NodePlan plan = Example();
  plan.node = std::nullopt;
  EXPECT_THAT(plan.Ranks(), ElementsAre(0, 1, 2, 3));
}

TEST(NodePlanTest, WhatIsCutOrMakesNoSenseIsRefused) {
  const std::string bytes = EncodeNodePlan(Example());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeNodePlan(bytes.substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(DecodeNodePlan(bytes + "x").ok());
  NodePlan plan = Example();
  plan.node = 2;
  EXPECT_FALSE(DecodeNodePlan(EncodeNodePlan(plan)).ok());
  plan = Example();
  plan.options.stdin_rank = 4;
  EXPECT_FALSE(DecodeNodePlan(EncodeNodePlan(plan)).ok());
  plan = Example();
  plan.options.command.clear();
  EXPECT_FALSE(DecodeNodePlan(EncodeNodePlan(plan)).ok());
}

}  // namespace
}  // namespace weft
