// Who is who in a job. A Rank always counts in the whole world; a position in
// a Team is a TeamIndex, another type, so that one is never taken for the other.
#ifndef WEFT_RANK_H_
#define WEFT_RANK_H_

#include <compare>
#include <cstdint>

namespace weft {

// A process of the job, 0 .. size - 1.
using Rank = uint32_t;

// Ranks fit the top 16 bits of a RemotePtr as rank + 1.
inline constexpr Rank kMaxRanks = 65535;

// A position in a Team, 0 .. team.size() - 1.
class TeamIndex {
 public:
  constexpr explicit TeamIndex(uint32_t value) : value_(value) {}
  constexpr uint32_t value() const { return value_; }
  friend constexpr auto operator<=>(TeamIndex, TeamIndex) = default;

 private:
  uint32_t value_;
};

}  // namespace weft
#endif  // WEFT_RANK_H_
