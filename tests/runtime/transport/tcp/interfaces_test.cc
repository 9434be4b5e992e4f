// Which addresses a rank listens on: case 27.
#include "runtime/transport/tcp/interfaces.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace weft {
namespace {

SocketAddress Ip(const char* text) {
  sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    return *SocketAddress::From(reinterpret_cast<sockaddr*>(&v4));
  }
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  EXPECT_EQ(inet_pton(AF_INET6, text, &v6.sin6_addr), 1) << text;
  return *SocketAddress::From(reinterpret_cast<sockaddr*>(&v6));
}

std::vector<std::string> Chosen(std::string_view chosen, bool one_node = false) {
  const std::vector<InterfaceAddress> all = {
      {.name = "lo", .address = Ip("127.0.0.1")},
      {.name = "lo", .address = Ip("::1")},
      {.name = "docker0", .address = Ip("172.17.0.1")},
      {.name = "eth0", .address = Ip("fe80::1")},
      {.name = "eth0", .address = Ip("2001:db8::1")},
      {.name = "eth0", .address = Ip("10.1.0.1")},
      {.name = "eth1", .address = Ip("192.168.7.1")},
      {.name = "eth2", .address = Ip("192.168.8.1"), .up = false},
  };
  const auto listened = ChooseListened(all, chosen, one_node);
  EXPECT_TRUE(listened.ok()) << listened.status();
  std::vector<std::string> texts;
  if (listened.ok()) {
    for (const SocketAddress& address : *listened) texts.push_back(address.ip_text());
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Interfaces, BridgesWithinAHostComeLastAndTheLoopbackNotAtAll) {
  EXPECT_EQ(Chosen(""), (Texts{"10.1.0.1", "192.168.7.1", "2001:db8::1", "172.17.0.1"}));
}

TEST(Interfaces, OneNodeTakesTheLoopback) {
  EXPECT_EQ(Chosen("", /*one_node=*/true), (Texts{"127.0.0.1", "::1"}));
}

TEST(Interfaces, ByNameOrByTheStartOfTheAddress) {
  EXPECT_EQ(Chosen("eth1"), Texts{"192.168.7.1"});
  EXPECT_EQ(Chosen("10."), Texts{"10.1.0.1"});
  EXPECT_EQ(Chosen("docker0"), Texts{"172.17.0.1"});
}

TEST(Interfaces, WhatIsNotThereIsNamedWithWhatIs) {
  const InterfaceAddress only[] = {{.name = "eth0", .address = Ip("10.1.0.1")}};
  const absl::Status status = ChooseListened(only, "ib0", false).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_NE(status.message().find("ib0"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("eth0 10.1.0.1"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace weft
