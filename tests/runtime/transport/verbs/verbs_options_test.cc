// How a rank connects, by what it was told and what its port can do.
#include "runtime/transport/verbs/verbs_options.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "runtime/transport/verbs/address_blob.h"
#include "runtime/transport/verbs/port.h"

namespace weft {
namespace {

VerbsPort Port(const std::string& device, bool iwarp = false) {
  VerbsPort port;
  port.device = device;
  port.iwarp = iwarp;
  return port;
}

TEST(ConnectsByCm, SmallJobsExchangeAndLargeOnesDoNot) {
  const VerbsPort port = Port("mlx5_0");
  EXPECT_FALSE(*ConnectsByCm(ConnectChoice::kAuto, port, 1));
  EXPECT_FALSE(*ConnectsByCm(ConnectChoice::kAuto, port, kMostEager));
  EXPECT_TRUE(*ConnectsByCm(ConnectChoice::kAuto, port, kMostEager + 1));
  EXPECT_TRUE(*ConnectsByCm(ConnectChoice::kCm, port, 2));
  EXPECT_FALSE(*ConnectsByCm(ConnectChoice::kExchange, port, kMaxExchangedRanks));
}

TEST(ConnectsByCm, IWarpHasOneWay) {
  const VerbsPort port = Port("siw0", true);
  EXPECT_TRUE(*ConnectsByCm(ConnectChoice::kAuto, port, 2));
  const absl::Status status = ConnectsByCm(ConnectChoice::kExchange, port, 2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("siw0:1"), std::string::npos) << status;
}

TEST(ConnectsByCm, MoreRanksThanFitTheBootstrapAreTold) {
  const absl::Status status =
      ConnectsByCm(ConnectChoice::kExchange, Port("mlx5_0"), kMaxExchangedRanks + 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("WEFT_VERBS_CONNECT=cm"), std::string::npos) << status;
}

}  // namespace
}  // namespace weft
