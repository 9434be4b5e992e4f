#include "tools/weftrun/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <vector>

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Options Parsed(const std::vector<std::string>& arguments) {
  auto options = ParseOptions(arguments);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.ok() ? *options : Options();
}

std::string Error(const std::vector<std::string>& arguments) {
  const auto options = ParseOptions(arguments);
  EXPECT_FALSE(options.ok());
  const std::string message(options.status().message());
  EXPECT_EQ(message.find('\n'), std::string::npos);
  return message;
}

TEST(OptionsTest, Defaults) {
  const Options options = Parsed({"-n", "4", "./program", "-n", "7", "--help"});
  EXPECT_EQ(options.ranks, 4u);
  EXPECT_THAT(options.command, ElementsAre("./program", "-n", "7", "--help"));
  EXPECT_EQ(options.stdin_rank, std::optional<Rank>(0));
  EXPECT_EQ(options.binding, Options::Binding::kEven);
  EXPECT_EQ(options.timeout, absl::InfiniteDuration());
  EXPECT_TRUE(options.environment.empty());
  EXPECT_TRUE(options.directory.empty());
  EXPECT_FALSE(options.tag_output || options.verbose || options.dry_run || options.help);
}

TEST(OptionsTest, EveryFlagInEverySpelling) {
  for (const char* flag : {"-n", "-np", "--n", "--np"}) {
    EXPECT_EQ(Parsed({flag, "65535", "p"}).ranks, 65535u);
  }
  EXPECT_EQ(Parsed({"-n=3", "p"}).ranks, 3u);
  EXPECT_TRUE(Parsed({"-n", "1", "--tag-output", "p"}).tag_output);
  EXPECT_TRUE(Parsed({"-n", "1", "-tag-output", "p"}).tag_output);
  EXPECT_TRUE(Parsed({"-n", "1", "-v", "p"}).verbose);
  EXPECT_TRUE(Parsed({"-n", "1", "--dry-run", "p"}).dry_run);
  EXPECT_TRUE(Parsed({"--help"}).help);
  EXPECT_TRUE(Parsed({"-n", "2", "-h", "--nonsense"}).help);
  EXPECT_EQ(Parsed({"-n", "1", "--timeout", "1.5", "p"}).timeout, absl::Seconds(1.5));
  EXPECT_EQ(Parsed({"-n", "3", "--stdin", "2", "p"}).stdin_rank, std::optional<Rank>(2));
  EXPECT_EQ(Parsed({"-n", "3", "--stdin=none", "p"}).stdin_rank, std::nullopt);
  EXPECT_EQ(Parsed({"-n", "1", "--bind-to", "cpu", "p"}).binding, Options::Binding::kCpu);
  EXPECT_EQ(Parsed({"-n", "1", "--bind-to", "none", "p"}).binding, Options::Binding::kNone);
  EXPECT_EQ(Parsed({"-n", "2", "p"}).pretended_nodes, 1u);
  EXPECT_EQ(Parsed({"-n", "2", "--pretend-nodes", "2", "p"}).pretended_nodes, 2u);
  EXPECT_EQ(Parsed({"-n", "1", "--wdir", "/", "p"}).directory, "/");
}

TEST(OptionsTest, Variables) {
  setenv("WEFT_OPTIONS_TEST", "inherited", 1);
  EXPECT_THAT(
      Parsed({"-n", "1", "-x", "A=b=c", "-x", "E=", "-x", "WEFT_OPTIONS_TEST", "p"}).environment,
      ElementsAre(Pair("A", "b=c"), Pair("E", ""), Pair("WEFT_OPTIONS_TEST", "inherited")));
}

TEST(OptionsTest, FlagsEndAtTwoDashes) {
  EXPECT_THAT(Parsed({"-n", "1", "--", "-v", "-n"}).command, ElementsAre("-v", "-n"));
  EXPECT_THAT(Parsed({"-n", "1", "p", "--", "x"}).command, ElementsAre("p", "--", "x"));
}

TEST(OptionsTest, Hosts) {
  Options options = Parsed({"--host", "a:2,b", "p"});
  EXPECT_EQ(options.ranks, 3u);
  EXPECT_THAT(options.placement.hosts, ElementsAre("a", "b"));
  EXPECT_THAT(options.placement.map.table(), ElementsAre(0, 0, 1));
  options = Parsed({"-H", "a:2", "--host", "b:2", "--map-by", "node", "-n", "3", "p"});
  EXPECT_THAT(options.placement.map.table(), ElementsAre(0, 1, 0));
  options = Parsed({"--host", "a,b", "-N", "2", "p"});
  EXPECT_THAT(options.placement.map.table(), ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(Parsed({"--ppn", "3", "p"}).ranks, 3u);
  EXPECT_THAT(Parsed({"-n", "1", "--interface", "eth1", "p"}).environment,
              ElementsAre(Pair("WEFT_INTERFACE", "eth1")));
  EXPECT_EQ(Parsed({"-n", "1", "--agent", "ssh -p 2222", "p"}).agent, "ssh -p 2222");
  EXPECT_EQ(Parsed({"-n", "1", "--remote-weftrun", "/w", "p"}).remote_weftrun, "/w");
  setenv("WEFT_REMOTE_WEFTRUN", "/of/the/environment", 1);
  EXPECT_EQ(Parsed({"-n", "1", "p"}).remote_weftrun, "/of/the/environment");
  unsetenv("WEFT_REMOTE_WEFTRUN");
  EXPECT_TRUE(Parsed({"-n", "4", "p"}).placement.hosts.empty());
  EXPECT_EQ(Parsed({"-n", "4", "--pretend-nodes", "2", "p"}).placement.map.nodes(), 2u);
}

TEST(OptionsTest, ErrorsAreOneLineWithACure) {
  EXPECT_THAT(Error({}), HasSubstr("-n N"));
  EXPECT_THAT(Error({"p"}), HasSubstr("-n N"));
  EXPECT_THAT(Error({"-n", "2"}), HasSubstr("which program?"));
  EXPECT_THAT(Error({"-n"}), HasSubstr("needs a value"));
  EXPECT_THAT(Error({"-n", "0", "p"}), HasSubstr("1 to 65535"));
  EXPECT_THAT(Error({"-n", "65536", "p"}), HasSubstr("1 to 65535"));
  EXPECT_THAT(Error({"-n", "99999999999999999999", "p"}), HasSubstr("number"));
  EXPECT_THAT(Error({"-n", "-1", "p"}), HasSubstr("\"-1\""));
  EXPECT_THAT(Error({"-n", "four", "p"}), HasSubstr("\"four\""));
  EXPECT_THAT(Error({"-n", "", "p"}), HasSubstr("\"\""));
  EXPECT_THAT(Error({"--hots", "a", "p"}), HasSubstr("--hots"));
  EXPECT_THAT(Error({"-n", "2", "--tag-output=yes", "p"}), HasSubstr("no value"));
  EXPECT_THAT(Error({"-n", "2", "--timeout", "0", "p"}), HasSubstr("above 0"));
  EXPECT_THAT(Error({"-n", "2", "--timeout", "-1", "p"}), HasSubstr("above 0"));
  EXPECT_THAT(Error({"-n", "2", "--timeout", "nan", "p"}), HasSubstr("above 0"));
  EXPECT_THAT(Error({"-n", "2", "--timeout", "soon", "p"}), HasSubstr("above 0"));
  EXPECT_THAT(Error({"-n", "2", "--stdin", "2", "p"}), HasSubstr("0 to 1"));
  EXPECT_THAT(Error({"-n", "2", "--stdin", "all", "p"}), HasSubstr("rank or none"));
  EXPECT_THAT(Error({"-n", "2", "--bind-to", "moon", "p"}), HasSubstr("cpu or none"));
  EXPECT_THAT(Error({"-n", "2", "--pretend-nodes", "0", "p"}), HasSubstr("above 0"));
  EXPECT_THAT(Error({"-n", "2", "--pretend-nodes", "3", "p"}), HasSubstr("2 ranks"));
  EXPECT_THAT(Error({"-n", "2", "--wdir", "/no/such", "p"}), HasSubstr("No such file"));
  EXPECT_THAT(Error({"-n", "2", "--wdir", "/proc/self/stat", "p"}), HasSubstr("Not a directory"));
  EXPECT_THAT(Error({"-n", "2", "-x", "=a", "p"}), HasSubstr("no name"));
  EXPECT_THAT(Error({"--host", "a:x", "p"}), HasSubstr("--host a,b:2"));
  EXPECT_THAT(Error({"--hostfile", "/no/such", "p"}), HasSubstr("No such file"));
  EXPECT_THAT(Error({"--host", "a,b", "-N", "2", "-n", "5", "p"}), HasSubstr("raise -N"));
  EXPECT_THAT(Error({"-N", "0", "p"}), HasSubstr("on each host"));
  EXPECT_THAT(Error({"-n", "2", "--map-by", "core", "p"}), HasSubstr("slot"));
  EXPECT_THAT(Error({"-n", "2", "--agent", " ", "p"}), HasSubstr("as ssh does"));
  EXPECT_THAT(Error({"-n", "2", "--interface", "", "p"}), HasSubstr("--interface"));
  EXPECT_THAT(Error({"--host", "a,b", "--pretend-nodes", "2", "p"}), HasSubstr("one host"));
  EXPECT_THAT(Error({"-n", "2", "-x", "WEFT_NOT_SET_AT_ALL", "p"}),
              HasSubstr("WEFT_NOT_SET_AT_ALL=VALUE"));
}

TEST(OptionsTest, HelpNamesEveryFlag) {
  for (const char* flag : {"-np", "-x", "--wdir", "--tag-output", "--timeout", "--stdin",
                           "--bind-to", "-v", "--dry-run", "--help", "--host", "--hostfile", "-N",
                           "--ppn", "--map-by", "--agent", "--remote-weftrun", "--interface"}) {
    EXPECT_THAT(kHelp, HasSubstr(flag));
  }
}

}  // namespace
}  // namespace weft
