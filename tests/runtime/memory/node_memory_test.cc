// The node's shared memory: sizes, seals, limits, and what a death changes.
#include "runtime/memory/node_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "weft/internal/address.h"

namespace weft {
namespace {

constexpr MemoryShape kShape = {.slab_bytes = 1 << 20, .local_bytes = 1 << 18};

TEST(NodeMemory, RanksSeeEachOthersSlabs) {
  auto authority = NodeAuthority::Create(2, kShape);
  ASSERT_TRUE(authority.ok()) << authority.status();
  auto first = NodeMemory::Map(*authority->Duplicate(), 0, 2, kShape);
  auto second = NodeMemory::Map(*authority->Duplicate(), 1, 2, kShape);
  ASSERT_TRUE(first.ok() && second.ok());
  first->view().slab(1)[kShape.slab_bytes - 1] = std::byte{42};
  EXPECT_EQ(second->view().slab(1)[kShape.slab_bytes - 1], std::byte{42});
  EXPECT_EQ(first->view().membership->limit[0], 0u) << "null has no limit";
  EXPECT_EQ(first->view().membership->limit[2], internal::EncodeAddress(1, kShape.slab_bytes) / 8);
  EXPECT_EQ(first->view().membership->limit[3], 0u);
}

TEST(NodeMemory, DeathClosesTheLimitAndLeavesTheOthers) {
  auto authority = NodeAuthority::Create(3, kShape);
  ASSERT_TRUE(authority.ok());
  auto memory = NodeMemory::Map(*authority->Duplicate(), 0, 3, kShape);
  ASSERT_TRUE(memory.ok());
  const Membership& membership = *memory->view().membership;
  authority->MarkDead(1, 9);
  authority->MarkLeft(2);
  EXPECT_EQ(membership.changes, 2u);
  EXPECT_EQ(membership.dead, 1u);
  EXPECT_EQ(membership.left, 1u);
  EXPECT_EQ(membership.state[1], MemberState::kDead);
  EXPECT_EQ(membership.state[2], MemberState::kLeft);
  EXPECT_EQ(membership.wait_status[1], 9);
  EXPECT_EQ(membership.limit[2], 0u);
  EXPECT_EQ(membership.limit[3], internal::EncodeAddress(2, kShape.slab_bytes) / 8)
      << "reachable until all have left";
}

TEST(NodeMemory, RanksThatBelieveInSeveralNodesReachTheirOwn) {
  auto authority = NodeAuthority::Create(3, kShape, 2);
  ASSERT_TRUE(authority.ok()) << authority.status();
  auto first = NodeMemory::Map(*authority->Duplicate(0), 0, 3, kShape);
  auto second = NodeMemory::Map(*authority->Duplicate(1), 2, 3, kShape);
  ASSERT_TRUE(first.ok() && second.ok());
  const Membership& of_first = *first->view().membership;
  const Membership& of_second = *second->view().membership;
  EXPECT_NE(of_first.limit[1], 0u);
  EXPECT_NE(of_first.limit[2], 0u);
  EXPECT_EQ(of_first.limit[3], 0u);
  EXPECT_EQ(of_second.limit[1], 0u);
  EXPECT_EQ(of_second.limit[2], 0u);
  EXPECT_NE(of_second.limit[3], 0u);

  authority->MarkDead(1, 9);
  EXPECT_EQ(of_first.limit[2], 0u);
  for (const Membership* membership : {&of_first, &of_second}) {
    EXPECT_EQ(membership->state[1], MemberState::kDead);
    EXPECT_EQ(membership->dead, 1u);
    EXPECT_EQ(membership->changes, 1u);
  }
  EXPECT_FALSE(NodeAuthority::Create(3, kShape, 4).ok());
}

TEST(NodeMemory, NobodyCanShrinkItOrWriteTheMembership) {
  auto authority = NodeAuthority::Create(1, kShape);
  ASSERT_TRUE(authority.ok());
  auto fds = authority->Duplicate();
  ASSERT_TRUE(fds.ok());
  EXPECT_EQ(ftruncate(fds->heap.get(), 0), -1);
  EXPECT_EQ(ftruncate(fds->control.get(), 0), -1);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds->membership.get(), 0),
            MAP_FAILED);
  EXPECT_EQ(pwrite(fds->membership.get(), "x", 1, 0), -1);
}

TEST(NodeMemory, WrongShapesAreRefusedWithTheNumbers) {
  for (const MemoryShape shape :
       {MemoryShape{}, MemoryShape{.slab_bytes = 4095}, MemoryShape{uint64_t{1} << 47, 0},
        MemoryShape{.slab_bytes = 4096, .local_bytes = 8192}}) {
    EXPECT_EQ(NodeAuthority::Create(2, shape).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(NodeAuthority::Create(0, kShape).ok());
  EXPECT_FALSE(NodeAuthority::Create(kMaxRanks + 1, kShape).ok());

  auto authority = NodeAuthority::Create(1, kShape);
  ASSERT_TRUE(authority.ok());
  MemoryShape other = kShape;
  other.slab_bytes *= 2;
  const absl::Status mapped = NodeMemory::Map(*authority->Duplicate(), 0, 1, other).status();
  EXPECT_FALSE(mapped.ok());
  EXPECT_NE(mapped.message().find("1048576"), absl::string_view::npos) << mapped;
}

// Runs `body` in a child, whose limits may be lowered; true when it returned true.
template <typename Body>
bool InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "wait status " << status;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(NodeMemory, ALimitOnFileSizesIsAnErrorAndNotASignal) {
  EXPECT_TRUE(InChild([] {
    const rlimit limit = {1 << 16, 1 << 16};
    setrlimit(RLIMIT_FSIZE, &limit);
    const absl::Status status = NodeAuthority::Create(4, kShape).status();
    return status.code() == absl::StatusCode::kResourceExhausted &&
           status.message().find("ulimit -f") != absl::string_view::npos &&
           status.message().find("4.0 MiB") != absl::string_view::npos;
  }));
}

TEST(NodeMemory, ALimitOnDescriptorsIsNamed) {
  EXPECT_TRUE(InChild([] {
    const rlimit limit = {3, 3};
    setrlimit(RLIMIT_NOFILE, &limit);
    const absl::Status status = NodeAuthority::Create(1, kShape).status();
    return status.code() == absl::StatusCode::kResourceExhausted &&
           status.message().find("ulimit -n") != absl::string_view::npos;
  }));
}

// Case 20 in small: a sparse heap past 4 GiB costs nothing until it is touched.
TEST(NodeMemory, ASparseSlabOfSixGibibytesWorks) {
  const MemoryShape shape = {.slab_bytes = uint64_t{6} << 30, .local_bytes = 0};
  auto authority = NodeAuthority::Create(2, shape);
  ASSERT_TRUE(authority.ok()) << authority.status();
  auto memory = NodeMemory::Map(*authority->Duplicate(), 0, 2, shape);
  ASSERT_TRUE(memory.ok()) << memory.status();
  memory->view().slab(1)[shape.slab_bytes - 1] = std::byte{7};
  EXPECT_EQ(memory->view().slab(1)[shape.slab_bytes - 1], std::byte{7});
}

}  // namespace
}  // namespace weft
