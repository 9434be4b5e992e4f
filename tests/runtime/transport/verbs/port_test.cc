// Which port and which GID are chosen, and what is said when there is none.
#include "runtime/transport/verbs/port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace weft {
namespace {

ibv_gid_entry Entry(uint32_t type, const std::vector<uint8_t>& first, bool mapped_v4 = false) {
  ibv_gid_entry entry = {};
  entry.gid_type = type;
  std::ranges::copy(first, entry.gid.raw);
  if (mapped_v4) entry.gid.raw[10] = entry.gid.raw[11] = 0xff;
  return entry;
}

TEST(VerbsPort, RoceV2OnIpv4IsTheBestGid) {
  const int best = RankGid(Entry(IBV_GID_TYPE_ROCE_V2, {}, true));
  const int global = RankGid(Entry(IBV_GID_TYPE_ROCE_V2, {0x20, 0x01}));
  const int link_local = RankGid(Entry(IBV_GID_TYPE_ROCE_V2, {0xfe, 0x80}));
  const int version_1 = RankGid(Entry(IBV_GID_TYPE_ROCE_V1, {}, true));
  EXPECT_GT(best, global);
  EXPECT_GT(global, link_local);
  EXPECT_GE(link_local, version_1);
  EXPECT_GT(version_1, 0);
}

std::vector<VerbsPort> TwoPorts() {
  VerbsPort down, up;
  down.device = "mlx5_0";
  down.reason = "it is not active";
  up.device = "mlx5_1";
  up.number = 2;
  up.usable = true;
  return {down, up};
}

TEST(VerbsPort, TheFirstUsableOneIsChosen) {
  const auto port = ChoosePort(TwoPorts(), "");
  ASSERT_TRUE(port.ok()) << port.status();
  EXPECT_EQ(port->name(), "mlx5_1:2");
}

TEST(VerbsPort, AnyThatIsNamedIsChosen) {
  EXPECT_TRUE(ChoosePort(TwoPorts(), "mlx5_1").ok());
  EXPECT_TRUE(ChoosePort(TwoPorts(), "mlx5_1:2").ok());
}

TEST(VerbsPort, ErrorsSayWhatIsWrongWithEach) {
  const auto says = [](const absl::StatusOr<VerbsPort>& port, const std::string& what) {
    EXPECT_EQ(port.status().code(), absl::StatusCode::kNotFound);
    EXPECT_NE(port.status().message().find(what), std::string::npos) << port.status();
  };
  says(ChoosePort({}, ""), "no RDMA device");
  says(ChoosePort(TwoPorts(), "mlx5_0"), "mlx5_0:1: it is not active");
  says(ChoosePort(TwoPorts(), "mlx5_1:1"), "there are: mlx5_0:1, mlx5_1:2");
}

}  // namespace
}  // namespace weft
