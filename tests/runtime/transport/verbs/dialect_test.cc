// What is asked of a device fits what it can.
#include "runtime/transport/verbs/dialect.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace weft {
namespace {

VerbsPort Port(bool iwarp) {
  VerbsPort port;
  port.device = iwarp ? "siw0" : "rxe0";
  port.iwarp = iwarp;
  return port;
}

VerbsOptions With(AtomicsChoice atomics, bool strict_flush = false) {
  VerbsOptions options;
  options.atomics = atomics;
  options.strict_flush = strict_flush;
  return options;
}

TEST(Dialect, ADeviceWithAtomicsCarriesThemOutUnlessToldNotTo) {
  const VerbsPort port = Port(/*iwarp=*/false);
  EXPECT_FALSE(ChooseDialect(port, IBV_ATOMIC_HCA, {})->messages);
  EXPECT_FALSE(ChooseDialect(port, IBV_ATOMIC_GLOB, With(AtomicsChoice::kNic))->messages);
  EXPECT_TRUE(ChooseDialect(port, IBV_ATOMIC_HCA, With(AtomicsChoice::kAgent))->messages);
  EXPECT_FALSE(ChooseDialect(port, IBV_ATOMIC_HCA, {})->proves);
  EXPECT_TRUE(ChooseDialect(port, IBV_ATOMIC_HCA, With(AtomicsChoice::kAuto, true))->proves);
}

TEST(Dialect, ADeviceWithoutAtomicsHasAnAgentAndIsNotForced) {
  const VerbsPort port = Port(/*iwarp=*/false);
  EXPECT_TRUE(ChooseDialect(port, IBV_ATOMIC_NONE, {})->messages);
  const absl::Status forced =
      ChooseDialect(port, IBV_ATOMIC_NONE, With(AtomicsChoice::kNic)).status();
  EXPECT_EQ(forced.code(), absl::StatusCode::kFailedPrecondition);
  for (const char* part : {"rxe0:1", "WEFT_ATOMICS=agent", "WEFT_VERBS_DEVICE"}) {
    EXPECT_NE(forced.message().find(part), absl::string_view::npos) << forced;
  }
}

TEST(Dialect, IWarpHasNeitherAtomicsNorFencesNorPlacementByCompletion) {
  const VerbsPort port = Port(/*iwarp=*/true);
  const absl::StatusOr<Dialect> dialect = ChooseDialect(port, IBV_ATOMIC_HCA, {});
  ASSERT_TRUE(dialect.ok());
  EXPECT_TRUE(dialect->messages && dialect->proves && dialect->waits_to_fence &&
              dialect->remote_sinks);
  EXPECT_FALSE(ChooseDialect(port, IBV_ATOMIC_HCA, With(AtomicsChoice::kNic)).ok());
}

}  // namespace
}  // namespace weft
