#include "runtime/bootstrap/lone_bootstrap.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

TEST(LoneBootstrapTest, IsRankZeroOfOneWithoutSharedMemory) {
  LoneBootstrap lone;
  EXPECT_EQ(lone.rank(), 0u);
  EXPECT_EQ(lone.size(), 1u);
  EXPECT_EQ(lone.source(), "lone");
  const auto memory = lone.ShareMemory({.slab_bytes = 1 << 20}, Deadline());
  ASSERT_TRUE(memory.ok());
  EXPECT_FALSE(memory->has_value());
  EXPECT_TRUE(lone.Fence(Deadline()).ok());
  EXPECT_FALSE(lone.NextDeath().has_value());
  EXPECT_TRUE(lone.Leave().ok());
}

TEST(LoneBootstrapTest, KeepsKeys) {
  LoneBootstrap lone;
  ASSERT_TRUE(lone.Put("key", std::string("va\0lue", 6)).ok());
  const auto value = lone.Get("key", Deadline());
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, std::string("va\0lue", 6));
  EXPECT_EQ(lone.Get("other", Deadline()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(lone.Put("key", "again").code(), absl::StatusCode::kAlreadyExists);
}

TEST(LoneBootstrapTest, BoundsAreThoseOfEverySource) {
  LoneBootstrap lone;
  const std::string key(Bootstrap::kMaxKeyBytes, 'k');
  EXPECT_TRUE(lone.Put(key, std::string(Bootstrap::kMaxValueBytes, 'v')).ok());
  EXPECT_EQ(lone.Put(key + 'k', "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(lone.Put("", "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(lone.Put("long", std::string(Bootstrap::kMaxValueBytes + 1, 'v')).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(lone.Get("", Deadline()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weft
