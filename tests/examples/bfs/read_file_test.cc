#include "examples/bfs/read_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "examples/bfs/package_lists.h"

namespace bfs {
namespace {

std::string FreshFolder(const std::string& name) {
  const std::string folder = testing::TempDir() + "/" + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(ReadFile, ReadsAllOfIt) {
  const std::string path = FreshFolder("read") + "/file";
  const std::string text(3'000'000, 'x');
  Write(path, text);
  EXPECT_EQ(ReadFile(path).value(), text);
  Write(path, "");
  EXPECT_EQ(ReadFile(path).value(), "");
}

TEST(ReadFile, ErrorsNameTheFile) {
  const auto missing = ReadFile("/no/such/file");
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_NE(missing.status().message().find("/no/such/file"), std::string::npos);
  EXPECT_FALSE(ReadFile("/").ok());
}

TEST(ReadCommand, ReadsStandardOutput) {
  EXPECT_EQ(ReadCommand({"echo", "a  b", "c"}).value(), "a  b c\n");
  EXPECT_EQ(ReadCommand({"sh", "-c", "head -c 3000000 /dev/zero"}).value(),
            std::string(3'000'000, '\0'));
}

TEST(ReadCommand, TellsHowItFailed) {
  EXPECT_EQ(std::string(ReadCommand({"sh", "-c", "echo x; exit 3"}).status().message()),
            "sh -c echo x; exit 3: exit status 3");
  EXPECT_EQ(std::string(ReadCommand({"sh", "-c", "kill -9 $$"}).status().message()),
            "sh -c kill -9 $$: killed by signal 9");
  EXPECT_FALSE(ReadCommand({"/no/such/program"}).ok());
}

TEST(PackageLists, AreFoundWhateverTheirCompression) {
  const std::string folder = FreshFolder("lists");
  for (const char* name : {"b_Packages.lz4", "a_Packages", "c_Packages.xz", "a_InRelease",
                           "a_Sources", "a_Packages.diff.Index", "lock"}) {
    Write(folder + "/" + name, "");
  }
  std::filesystem::create_directory(folder + "/d_Packages");
  EXPECT_EQ(FindPackageLists(folder).value(),
            (std::vector<std::string>{folder + "/a_Packages", folder + "/b_Packages.lz4",
                                      folder + "/c_Packages.xz"}));
}

TEST(PackageLists, NoneIsAnError) {
  const std::string folder = FreshFolder("none");
  EXPECT_TRUE(absl::IsNotFound(FindPackageLists(folder).status()));
  EXPECT_TRUE(absl::IsNotFound(FindPackageLists(folder + "/missing").status()));
}

TEST(PackageLists, AreReadPlainAndCompressed) {
  const std::string folder = FreshFolder("formats"), text = "Package: a\n";
  Write(folder + "/a_Packages", text);
  EXPECT_EQ(ReadPackageList(folder + "/a_Packages").value(), text);
  ASSERT_TRUE(ReadCommand({"gzip", folder + "/a_Packages"}).ok());
  EXPECT_EQ(ReadPackageList(folder + "/a_Packages.gz").value(), text);
  EXPECT_FALSE(ReadPackageList(folder + "/b_Packages.gz").ok());
}

}  // namespace
}  // namespace bfs
