// Runs in a guest of tools/rdma-vm: the devices that a host-built program finds there.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

namespace {

TEST(Devices, TwoAreActive) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  ASSERT_NE(devices, nullptr);
  EXPECT_EQ(count, 2);
  for (int i = 0; i < count; ++i) {
    ibv_context* context = ibv_open_device(devices[i]);
    ASSERT_NE(context, nullptr) << ibv_get_device_name(devices[i]);
    ibv_port_attr port = {};
    EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
    EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
    ibv_close_device(context);
  }
  ibv_free_device_list(devices);
}

TEST(Devices, Nothing) {}

}  // namespace
