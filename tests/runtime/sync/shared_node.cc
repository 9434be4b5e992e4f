#include "tests/runtime/sync/shared_node.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "runtime/base/doorbell.h"

namespace weft {
namespace {

Mapping Shared(size_t bytes) {
  void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    perror("mmap of a test's shared memory");
    abort();
  }
  return Mapping(p, bytes);
}

}  // namespace

SharedNode::SharedNode(Rank size)
    : size_(size),
      heap_(Shared(size * kSlabBytes)),
      control_(Shared(size * kControlBytes)),
      membership_(Shared(sizeof(Membership))) {}

NodeView SharedNode::view(Rank rank) const {
  return {.rank = rank,
          .size = size_,
          .heap = heap_.get(),
          .slab_bytes = kSlabBytes,
          .control_base = control_.get(),
          .membership = &membership()};
}

Membership& SharedNode::membership() const {
  return *reinterpret_cast<Membership*>(membership_.get());
}

void SharedNode::MarkDead(Rank rank, int wait_status) const {
  membership().wait_status[rank] = wait_status;
  Publish(rank, MemberState::kDead, membership().dead);
}

void SharedNode::MarkLeft(Rank rank) const { Publish(rank, MemberState::kLeft, membership().left); }

void SharedNode::Publish(Rank rank, MemberState state, std::atomic<uint32_t>& count) const {
  membership().lost_at[rank] = membership().changes + 1;
  membership().state[rank] = state;
  count.fetch_add(1);
  membership().changes.fetch_add(1);
  for (Rank r = 0; r < size_; ++r) {
    RingAlways(view(0).control(r).doorbell);
    RingAlways(view(0).control(r).barrier.doorbell);
  }
}

std::atomic<uint64_t>& SharedNode::word(size_t index) const {
  return reinterpret_cast<std::atomic<uint64_t>*>(heap_.get())[index];
}

std::vector<int> SharedNode::Run(const std::function<void(const NodeView&)>& body) const {
  const pid_t parent = getpid();
  std::vector<pid_t> pids;
  for (Rank r = 0; r < size_; ++r) {
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(2);
      body(view(r));
      fflush(nullptr);
      _exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    if (pid < 0) {
      perror("fork of a test's rank");
      abort();
    }
    pids.push_back(pid);
  }
  std::vector<int> statuses(size_, -1);
  for (Rank ended = 0; ended < size_; ++ended) {
    int status;
    const pid_t pid = waitpid(-1, &status, 0);
    const auto it = std::find(pids.begin(), pids.end(), pid);
    if (it == pids.end()) {
      perror("waitpid for a test's ranks");
      abort();
    }
    const Rank rank = static_cast<Rank>(it - pids.begin());
    statuses[rank] = status;
    if (status != 0) MarkDead(rank, status);
  }
  return statuses;
}

bool AllSucceeded(const std::vector<int>& wait_statuses) {
  return std::all_of(wait_statuses.begin(), wait_statuses.end(),
                     [](int status) { return status == 0; });
}

}  // namespace weft
