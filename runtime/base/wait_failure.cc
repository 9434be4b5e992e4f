#include "runtime/base/wait_failure.h"

#include <string.h>
#include <sys/wait.h>

#include "absl/strings/str_cat.h"

namespace weft {

std::optional<Rank> LowestDead(const Membership& membership, Rank size) {
  if (membership.dead.load(std::memory_order_acquire) == 0) return std::nullopt;
  for (Rank r = 0; r < size; ++r) {
    if (membership.state[r].load(std::memory_order_acquire) == MemberState::kDead) return r;
  }
  return std::nullopt;
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
