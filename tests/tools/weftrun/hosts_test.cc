#include "tools/weftrun/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Host> List(std::string_view text) {
  auto hosts = ParseHostList(text);
  EXPECT_TRUE(hosts.ok()) << hosts.status();
  return hosts.ok() ? *hosts : std::vector<Host>();
}

Placement Placed(const std::vector<Host>& hosts, Rank ranks,
                 std::optional<uint32_t> per_host = std::nullopt, bool by_node = false) {
  auto placement = PlaceRanks(hosts, ranks, per_host, by_node);
  EXPECT_TRUE(placement.ok()) << placement.status();
  return placement.ok() ? *placement : Placement();
}

TEST(HostsTest, Lists) {
  EXPECT_THAT(List("a"), ElementsAre(Host{"a", 1}));
  EXPECT_THAT(List("a,b:2,me@c.example.org:16"),
              ElementsAre(Host{"a", 1}, Host{"b", 2}, Host{"me@c.example.org", 16}));
  EXPECT_THAT(List("10.0.0.1:3,[2001:db8::1]:4,2001:db8::2,[::1]"),
              ElementsAre(Host{"10.0.0.1", 3}, Host{"2001:db8::1", 4}, Host{"2001:db8::2", 1},
                          Host{"::1", 1}));
  // The last is what ssh would take for an option.
  for (const char* bad :
       {"", "a,", "a:", "a:0", "a:x", "a:65536", "a b", "[::1]x", "a;b", "-oX=y"}) {
    const auto hosts = ParseHostList(bad);
    ASSERT_FALSE(hosts.ok()) << bad;
    EXPECT_THAT(std::string(hosts.status().message()), HasSubstr("--host a,b:2")) << bad;
  }
}

TEST(HostsTest, Files) {
  const auto hosts = ParseHostFile("f", "# all\na\n\n  b slots=2 # two\r\n\tc\tslots=3");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_THAT(*hosts, ElementsAre(Host{"a", 1}, Host{"b", 2}, Host{"c", 3}));
  for (const char* bad : {"a b", "a\nb slots=", "a slots=0", "a slots=2 more", "-x", "a max=2"}) {
    const auto no = ParseHostFile("some/file", bad);
    ASSERT_FALSE(no.ok()) << bad;
    EXPECT_THAT(std::string(no.status().message()), HasSubstr("--hostfile some/file, line "))
        << bad;
  }
  EXPECT_FALSE(ParseHostFile("f", "# nobody\n").ok());
}

TEST(HostsTest, BySlot) {
  const std::vector<Host> hosts = {{"a", 2}, {"b", 1}, {"c", 3}};
  EXPECT_THAT(Placed(hosts, 0).map.table(), ElementsAre(0, 0, 1, 2, 2, 2));
  EXPECT_THAT(Placed(hosts, 0).hosts, ElementsAre("a", "b", "c"));
  EXPECT_THAT(Placed(hosts, 2).hosts, ElementsAre("a"));
  EXPECT_THAT(Placed(hosts, 4).map.table(), ElementsAre(0, 0, 1, 2));
  // What is over is dealt out in turn.
  EXPECT_THAT(Placed(hosts, 8).map.table(), ElementsAre(0, 0, 0, 1, 1, 2, 2, 2));
  EXPECT_THAT(Placed({{"a", 1}, {"b", 1}}, 4).map.table(), ElementsAre(0, 0, 1, 1));
}

TEST(HostsTest, ByNode) {
  const std::vector<Host> hosts = {{"a", 2}, {"b", 1}, {"c", 3}};
  EXPECT_THAT(Placed(hosts, 0, {}, true).map.table(), ElementsAre(0, 1, 2, 0, 2, 2));
  EXPECT_THAT(Placed({{"a", 1}, {"b", 1}}, 5, {}, true).map.table(), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(Placed({{"a", 3}, {"b", 1}}, 6, {}, true).map.table(), ElementsAre(0, 1, 0, 0, 1, 0));
}

TEST(HostsTest, SoManyOnEachHost) {
  EXPECT_THAT(Placed({{"a", 7}, {"b", 1}}, 0, 2).map.table(), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Placed({{"a", 7}, {"b", 1}}, 3, 2).map.table(), ElementsAre(0, 0, 1));
  const auto too_many = PlaceRanks({{"a", 7}, {"b", 1}}, 5, 2, false);
  ASSERT_FALSE(too_many.ok());
  EXPECT_THAT(std::string(too_many.status().message()), HasSubstr("raise -N"));
  // This machine.
  EXPECT_THAT(Placed({}, 0, 3).map.table(), ElementsAre(0, 0, 0));
}

TEST(HostsTest, AHostNamedTwiceHasTheRoomOfBoth) {
  EXPECT_THAT(Placed({{"a", 1}, {"b", 1}, {"A", 2}}, 0).map.table(), ElementsAre(0, 0, 0, 1));
  char own[256] = {};
  gethostname(own, sizeof(own) - 1);
  EXPECT_TRUE(IsThisHost(own));
  EXPECT_TRUE(IsThisHost("localhost"));
  EXPECT_FALSE(IsThisHost("no-such-host.invalid"));
  EXPECT_THAT(Placed({{"localhost", 1}, {own, 2}}, 0).hosts, ElementsAre("localhost"));
}

}  // namespace
}  // namespace weft
