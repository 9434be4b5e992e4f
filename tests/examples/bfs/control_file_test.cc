#include "examples/bfs/control_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Names(std::string_view value) {
  const auto names = ParsePackageNames({.name = "Depends", .value = value, .line = 5}, "P");
  EXPECT_TRUE(names.ok()) << names.status();
  if (!names.ok()) return {};
  return std::vector<std::string>(names->begin(), names->end());
}

TEST(PackageNames, LeaveEverythingElseOut) {
  EXPECT_THAT(Names(" libc6"), ElementsAre("libc6"));
  EXPECT_THAT(Names("a, b,c ,  d"), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Names("a | b|c, d"), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Names("a (>= 1), b (<< 2:3.4~rc1-5+b1) | c(=1)"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Names("python3:any, perl:native (>= 5) | g++"),
              ElementsAre("python3", "perl", "g++"));
  EXPECT_THAT(Names("a [amd64 !i386], b (>= 1) [any] <!nocheck> <cross>"), ElementsAre("a", "b"));
  EXPECT_THAT(Names(" a,\n b (>= 1),\n\tc | d"), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Names("a, "), ElementsAre("a"));
  EXPECT_THAT(Names(""), IsEmpty());
  EXPECT_THAT(Names("  \n "), IsEmpty());
}

struct WrongField {
  std::string value;
  std::string message;
};

class PackageNamesErrors : public testing::TestWithParam<WrongField> {};

TEST_P(PackageNamesErrors, NameFileAndLine) {
  const auto names =
      ParsePackageNames({.name = "Depends", .value = GetParam().value, .line = 5}, "P");
  EXPECT_TRUE(absl::IsInvalidArgument(names.status()));
  EXPECT_EQ(std::string(names.status().message()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, PackageNamesErrors,
    testing::Values(WrongField{"a |", "P:5: expected the name of a package at \"\""},
                    WrongField{"a | | b", "P:5: expected the name of a package at \"| b\""},
                    WrongField{"(>= 1)", "P:5: expected the name of a package at \"(>= 1)\""},
                    WrongField{"a (>= 1, b", "P:5: no closing bracket at \"(>= 1, b\""},
                    WrongField{"a [amd64", "P:5: no closing bracket at \"[amd64\""},
                    WrongField{"a: , b", "P:5: expected an architecture behind ':' at \" , b\""},
                    WrongField{"a b", "P:5: expected ',' or '|' at \"b\""},
                    WrongField{"a,\n b,\n c)", "P:7: expected ',' or '|' at \")\""}));

// The fields of all stanzas, as "line name=value", a stanza's end as "--".
absl::StatusOr<std::vector<std::string>> Fields(std::string_view text) {
  std::vector<std::string> fields;
  const absl::Status status = ForEachStanza(text, "P", [&](std::span<const ControlField> stanza) {
    for (const ControlField& field : stanza) {
      fields.push_back(std::to_string(field.line) + " " + std::string(field.name) + "=" +
                       std::string(field.value));
    }
    fields.push_back("--");
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return fields;
}

TEST(ControlFile, SplitsStanzasAndFields) {
  const auto fields = Fields("\n\nA: 1\nB:2\n \n\nC: http://x:80\nD:");
  ASSERT_TRUE(fields.ok()) << fields.status();
  EXPECT_THAT(*fields, ElementsAre("3 A= 1", "4 B=2", "--", "7 C= http://x:80", "8 D=", "--"));
}

TEST(ControlFile, JoinsContinuationLines) {
  const auto fields = Fields("A: 1\n 2\n\t3\nB:\n x\n .\nC: y\n");
  ASSERT_TRUE(fields.ok()) << fields.status();
  EXPECT_THAT(*fields, ElementsAre("1 A= 1\n 2\n\t3", "4 B=\n x\n .", "7 C= y", "--"));
}

TEST(ControlFile, NothingHasNoStanza) {
  EXPECT_THAT(*Fields(""), IsEmpty());
  EXPECT_THAT(*Fields("\n\n\n"), IsEmpty());
}

TEST(ControlFile, NamesOfFieldsTellNoCase) {
  const ControlField field = {.name = "pre-DEPENDS", .value = "", .line = 1};
  EXPECT_TRUE(field.Is("Pre-Depends"));
  EXPECT_FALSE(field.Is("Depends"));
}

TEST(ControlFile, ErrorsNameFileAndLine) {
  EXPECT_EQ(std::string(Fields("A: 1\nnonsense\n").status().message()),
            "P:2: expected \"Field: value\", found \"nonsense\"");
  EXPECT_EQ(std::string(Fields("A: 1\n: 2\n").status().message()),
            "P:2: expected \"Field: value\", found \": 2\"");
  EXPECT_EQ(std::string(Fields("A: 1\n\n  x\n").status().message()),
            "P:3: a continuation line that continues nothing");
}

TEST(ControlFile, StopsAtTheCallersError) {
  int calls = 0;
  const absl::Status status = ForEachStanza("A: 1\n\nB: 2\n", "P", [&](auto) {
    ++calls;
    return absl::CancelledError("enough");
  });
  EXPECT_TRUE(absl::IsCancelled(status));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace bfs
