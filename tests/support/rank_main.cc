// The main of a test that weftrun starts: joins, runs the cases, leaves.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "tests/support/rank_test.h"

namespace weft::testing {
namespace {

std::optional<World> the_world;

// Failures only, with the rank.
class FailuresOnly : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %u: %s:%d: %s\n", the_world->rank(),
                 result.file_name() == nullptr ? "?" : result.file_name(), result.line_number(),
                 result.message());
  }
};

int Run(int argc, char** argv) {
  auto world = World::Join({});
  if (!world.ok()) {
    std::fprintf(stderr, "cannot join: %s\n", world.status().ToString().c_str());
    return 1;
  }
  the_world = *std::move(world);
  // One report a job: rank 0's. InitGoogleTest opens what the flag says, so it comes after.
  if (the_world->rank() != 0) ::testing::GTEST_FLAG(output) = "";
  ::testing::InitGoogleTest(&argc, argv);
  if (the_world->rank() != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  const int failed = RUN_ALL_TESTS();
  const absl::Status left = the_world->Leave();
  if (!left.ok()) {
    std::fprintf(stderr, "rank %u: %s\n", the_world->rank(), left.ToString().c_str());
  }
  the_world.reset();
  return failed != 0 || !left.ok();
}

}  // namespace

World& TheWorld() { return *the_world; }

bool OverSoftRdma() {
  const char* const transports = std::getenv("WEFT_TRANSPORTS");
  return transports != nullptr && std::string_view(transports).ends_with("verbs") &&
         std::getenv("RDMA_DEVICES") != nullptr;
}

bool OperationsAreSlow() { return std::getenv("WEFT_FAULT") != nullptr || OverSoftRdma(); }

}  // namespace weft::testing

int main(int argc, char** argv) { return weft::testing::Run(argc, argv); }
