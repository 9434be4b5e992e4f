#include "runtime/authority/epochs.h"

namespace weft {

uint32_t Epochs::Propose(const std::vector<Rank>& alive, int64_t now) {
  due_ = std::set<Rank>(alive.begin(), alive.end());
  late_at_ = Deadline::AtMonotonicNanos(now + absl::ToInt64Nanoseconds(kPatience));
  return ++proposal_;
}

bool Epochs::Acknowledge(Rank rank, uint32_t proposal) {
  return proposal == proposal_ && Remove(rank);
}

bool Epochs::Excuse(Rank rank) { return Remove(rank); }

bool Epochs::Remove(Rank rank) {
  if (due_.erase(rank) == 0 || !due_.empty()) return false;
  epoch_ = proposal_;
  late_at_ = Deadline();
  return true;
}

std::vector<Rank> Epochs::Late(int64_t now) {
  if (now < late_at_.monotonic_nanos()) return {};
  late_at_ = Deadline();
  return {due_.begin(), due_.end()};
}

}  // namespace weft
