#include "runtime/base/wait_failure.h"

#include <string.h>
#include <sys/wait.h>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// The first that was lost, of those that `counts` is true for.
template <typename Counts>
std::optional<Rank> First(const Membership& membership, Rank size, Counts&& counts) {
  std::optional<Rank> first;
  uint32_t first_at = UINT32_MAX;
  for (Rank r = 0; r < size; ++r) {
    if (!counts(r)) continue;
    const uint32_t at = membership.lost_at[r].load(std::memory_order_relaxed);
    if (at >= first_at) continue;
    first = r;
    first_at = at;
  }
  return first;
}

}  // namespace

std::optional<Rank> FirstDead(const NodeView& node) {
  const Membership& membership = *node.membership;
  if (membership.dead.load(std::memory_order_acquire) == 0) return std::nullopt;
  return First(membership, node.size, [&](Rank r) {
    return membership.state[r].load(std::memory_order_acquire) == MemberState::kDead &&
           !node.AcceptedDead(r);
  });
}

std::optional<Rank> FirstLost(const Membership& membership, Rank size) {
  return First(membership, size, [&](Rank r) {
    return membership.state[r].load(std::memory_order_acquire) != MemberState::kAlive;
  });
}

std::string DescribeWaitStatus(int wait_status) {
  if (wait_status != -1 && WIFEXITED(wait_status)) {
    return absl::StrCat("exited with status ", WEXITSTATUS(wait_status));
  }
  if (wait_status != -1 && WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    const char* const text = sigdescr_np(number);
    return absl::StrCat("killed by signal ", number, " (", text == nullptr ? "unknown" : text, ")");
  }
  return "how is not known";
}

absl::Status LostRankError(const Membership& membership, Rank rank, std::string_view what) {
  const std::string prefix =
      absl::StrCat(absl::string_view(what.data(), what.size()), ": rank ", rank);
  if (membership.state[rank].load(std::memory_order_acquire) == MemberState::kLeft) {
    return absl::UnavailableError(
        absl::StrCat(prefix, " has left the job; every rank must make this call before it leaves"));
  }
  const int wait_status = membership.wait_status[rank].load(std::memory_order_acquire);
  return absl::UnavailableError(absl::StrCat(prefix, " died: ", DescribeWaitStatus(wait_status)));
}

}  // namespace weft
