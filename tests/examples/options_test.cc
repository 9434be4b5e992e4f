#include "examples/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace examples {
namespace {

struct Values {
  std::string text = "default";
  uint64_t number = 7;
  bool flag = false;
};

absl::Status Parse(std::vector<const char*> arguments, Values& values) {
  OptionParser parser;
  parser.AddText("--text", &values.text);
  parser.AddNumber("--number", &values.number, 2);
  parser.AddFlag("--flag", &values.flag);
  arguments.insert(arguments.begin(), "program");
  return parser.Parse(static_cast<int>(arguments.size()), arguments.data());
}

TEST(OptionParser, KeepsDefaults) {
  Values values;
  ASSERT_TRUE(Parse({}, values).ok());
  EXPECT_EQ(values.text, "default");
  EXPECT_EQ(values.number, 7u);
  EXPECT_FALSE(values.flag);
}

TEST(OptionParser, TakesValuesInBothForms) {
  Values values;
  ASSERT_TRUE(Parse({"--text", "a b", "--number=12", "--flag"}, values).ok());
  EXPECT_EQ(values.text, "a b");
  EXPECT_EQ(values.number, 12u);
  EXPECT_TRUE(values.flag);
  ASSERT_TRUE(Parse({"--text=", "--number", "3"}, values).ok());
  EXPECT_EQ(values.text, "");
  EXPECT_EQ(values.number, 3u);
}

TEST(OptionParser, MultipliesBySuffixes) {
  Values values;
  ASSERT_TRUE(Parse({"--number=3K"}, values).ok());
  EXPECT_EQ(values.number, 3u << 10);
  ASSERT_TRUE(Parse({"--number=3M"}, values).ok());
  EXPECT_EQ(values.number, 3u << 20);
  ASSERT_TRUE(Parse({"--number=3G"}, values).ok());
  EXPECT_EQ(values.number, uint64_t{3} << 30);
  ASSERT_TRUE(Parse({"--number=18446744073709551615"}, values).ok());
  EXPECT_EQ(values.number, UINT64_MAX);
}

// What the message must say for arguments that are wrong.
struct Wrong {
  std::vector<const char*> arguments;
  std::string says;
};

class OptionParserErrors : public testing::TestWithParam<Wrong> {};

TEST_P(OptionParserErrors, SaysWhatIsWrong) {
  Values values;
  const absl::Status status = Parse(GetParam().arguments, values);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(status.message().find(GetParam().says), std::string::npos) << status;
}

INSTANTIATE_TEST_SUITE_P(
    All, OptionParserErrors,
    testing::Values(Wrong{{"file"}, "unexpected argument file"},
                    Wrong{{"-n"}, "unexpected argument -n"},
                    Wrong{{"--colour=red"}, "unknown option --colour"},
                    Wrong{{"--text"}, "--text needs a value"},
                    Wrong{{"--flag=1"}, "--flag takes no value"},
                    Wrong{{"--number="}, "whole number of at least 2, not \"\""},
                    Wrong{{"--number=1"}, "whole number of at least 2, not \"1\""},
                    Wrong{{"--number=-3"}, "not \"-3\""}, Wrong{{"--number=3.5"}, "not \"3.5\""},
                    Wrong{{"--number=3k"}, "not \"3k\""},
                    Wrong{{"--number=18446744073709551616"}, "not \"18446744073709551616\""},
                    Wrong{{"--number=17179869184G"}, "not \"17179869184G\""}));

}  // namespace
}  // namespace examples
