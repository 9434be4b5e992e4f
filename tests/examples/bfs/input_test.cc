#include "examples/bfs/input.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace bfs {
namespace {

class ReadMachineTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(lists());
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string lists() const { return folder_ + "/lists"; }
  std::string status() const { return folder_ + "/status"; }

 private:
  const std::string folder_ = testing::TempDir() + "/machine";
};

TEST_F(ReadMachineTest, TakesTheLists) {
  Write("lists/main_Packages", "Package: a\nDepends: b\n\nPackage: b\n");
  Write("lists/updates_Packages", "Package: c\nDepends: b\n");
  Write("status", "Package: installed\n");
  const auto input = ReadMachine(lists(), status());
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->source, lists() + " (2 lists)");
  EXPECT_EQ(input->note, "");
  EXPECT_EQ(input->graph.vertices(), 3u);
  EXPECT_EQ(input->graph.edges(), 2u);
  EXPECT_EQ(input->graph.direction(), Direction::kDirected);
}

TEST_F(ReadMachineTest, FallsBackToWhatIsInstalledAndSaysSo) {
  Write("status", "Package: a\nStatus: install ok installed\nDepends: b\n\nPackage: b\n");
  for (const bool malformed : {false, true}) {
    if (malformed) Write("lists/main_Packages", "nonsense\n");
    const auto input = ReadMachine(lists(), status());
    ASSERT_TRUE(input.ok()) << input.status();
    EXPECT_EQ(input->source, status());
    EXPECT_NE(input->note.find("installed"), std::string::npos) << input->note;
    EXPECT_NE(input->note.find(malformed ? "main_Packages:1: " : "no package lists"),
              std::string::npos)
        << input->note;
    EXPECT_EQ(input->graph.edges(), 1u);
  }
}

TEST_F(ReadMachineTest, TellsWhatToDoWithoutPackages) {
  const auto input = ReadMachine(lists(), status());
  EXPECT_TRUE(absl::IsNotFound(input.status()));
  EXPECT_NE(input.status().message().find("--graph FILE"), std::string::npos) << input.status();
}

}  // namespace
}  // namespace bfs
