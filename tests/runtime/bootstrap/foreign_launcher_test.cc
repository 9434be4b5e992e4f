#include "runtime/bootstrap/foreign_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace weft {
namespace {

using Variables = std::map<std::string, std::string>;

// What is found, or "none".
std::string Found(const Variables& variables) {
  return ForeignLauncher([&](const char* name) -> const char* {
           const auto entry = variables.find(name);
           return entry == variables.end() ? nullptr : entry->second.c_str();
         })
      .value_or("none");
}

TEST(ForeignLauncherTest, NamesTheLauncherOfSeveralRanks) {
  EXPECT_THAT(Found({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "0"}}),
              testing::HasSubstr("Open MPI"));
  EXPECT_THAT(Found({{"PMIX_RANK", "0"}}), testing::HasSubstr("PMIx"));
  EXPECT_THAT(Found({{"MPI_LOCALNRANKS", "4"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}),
              testing::HasSubstr("MPICH"));
  EXPECT_THAT(Found({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}), testing::HasSubstr("PMI"));
  EXPECT_THAT(Found({{"PMI_SIZE", "4"}}), testing::HasSubstr("PMI"));
  EXPECT_THAT(Found({{"PMI_FD", "5"}}), testing::HasSubstr("PMI"));
  EXPECT_THAT(Found({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}),
              testing::HasSubstr("torchrun"));
}

TEST(ForeignLauncherTest, PlainSrunIsNamed) {
  EXPECT_THAT(Found({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}}),
              testing::HasSubstr("srun"));
  // Its PMI-2 comes with srun's own marks.
  EXPECT_THAT(Found({{"SLURM_STEP_ID", "0"},
                     {"SLURM_PROCID", "1"},
                     {"SLURM_NTASKS", "4"},
                     {"PMI_RANK", "1"},
                     {"PMI_SIZE", "4"}}),
              testing::HasSubstr("srun"));
}

TEST(ForeignLauncherTest, ABatchScriptsShellIsNoStep) {
  EXPECT_EQ(Found({{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}), "none");
}

TEST(ForeignLauncherTest, OneOfOneIsAlone) {
  EXPECT_EQ(Found({{"OMPI_COMM_WORLD_SIZE", "1"}}), "none");
  EXPECT_EQ(Found({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), "none");
  EXPECT_EQ(Found({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}),
            "none");
  EXPECT_EQ(Found({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "a"}}), "none");
}

TEST(ForeignLauncherTest, PlainEnvironmentIsNone) {
  EXPECT_EQ(Found({}), "none");
  EXPECT_EQ(Found({{"RANK", "general"}, {"HOME", "/root"}}), "none");
}

}  // namespace
}  // namespace weft
