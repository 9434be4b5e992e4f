// What is said of memory that cannot be pinned, before and after it was tried.
#include "runtime/transport/verbs/pinning.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kMiB = 1 << 20;

TEST(VerbsPinning, TheStatusOfAProcessIsRead) {
  const PinningLimits plain = ParsePinning(
      "Name:\tx\nVmLck:\t       8 kB\nVmPin:\t    2048 kB\nCapPrm:\tffffffffffffffff\n"
      "CapEff:\t00000000a80425fb\n");
  EXPECT_EQ(plain.pinned, 2 * kMiB);
  EXPECT_FALSE(plain.exempt);
  EXPECT_TRUE(ParsePinning("VmPin:\t0 kB\nCapEff:\t000001ffffffffff\n").exempt);
  EXPECT_FALSE(ParsePinning("").exempt);
}

TEST(VerbsPinning, ThisProcessHasSome) {
  PinningLimits limits = PinningLimits::OfThisProcess();
  limits.CountMappings();
  EXPECT_GT(limits.mappings, 5u);
  EXPECT_LT(limits.mappings, limits.max_mappings);
}

TEST(VerbsPinning, WhatIsTooMuchNamesLimitNeedAndCure) {
  const PinningLimits limits = {.lockable = 64 * kMiB, .pinned = 16 * kMiB};
  EXPECT_TRUE(CheckPinning(48 * kMiB, limits).ok());
  const absl::Status status = CheckPinning(49 * kMiB, limits);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("50176 KiB"), HasSubstr("65536 KiB (ulimit -l)"),
                    HasSubstr("16384 KiB are in use"), HasSubstr("WEFT_HEAP_BYTES")));
  EXPECT_FALSE(CheckPinning(UINT64_MAX, limits).ok());
}

TEST(VerbsPinning, TheCapabilityLiftsTheLimit) {
  EXPECT_TRUE(CheckPinning(49 * kMiB, {.lockable = kMiB, .exempt = true}).ok());
  EXPECT_TRUE(CheckPinning(49 * kMiB, {}).ok());
}

std::string WhyNot(int error, const PinningLimits& limits) {
  const absl::Status status = RegistrationError(kMiB, error, 4000, limits);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  return std::string(status.message());
}

// In a user namespace the capability is there, and does not count.
TEST(VerbsPinning, ARefusalIsBlamedOnTheLimitThatItHits) {
  EXPECT_THAT(WhyNot(ENOMEM, {.lockable = kMiB / 2, .exempt = true}), HasSubstr("ulimit -l"));
  EXPECT_THAT(WhyNot(ENOMEM, {.mappings = 65529, .max_mappings = 65530}),
              AllOf(HasSubstr("65529 memory mappings"), HasSubstr("vm.max_map_count")));
  EXPECT_THAT(WhyNot(ENOMEM, {.mappings = 100, .max_mappings = 65530}), HasSubstr("4000 regions"));
  EXPECT_THAT(WhyNot(EINVAL, {.lockable = 0}), HasSubstr("Invalid argument"));
}

}  // namespace
}  // namespace weft
