// DeadSet: who of the job is dead, the same for all that survive.
#ifndef WEFT_DEAD_SET_H_
#define WEFT_DEAD_SET_H_

#include <cstdint>
#include <vector>

#include "weft/rank.h"

namespace weft {

struct DeadSet {
  // The version of the job's membership: 0 while nobody has died, more after each death. All ranks
  // that see an epoch see the same dead in it.
  uint32_t epoch = 0;
  std::vector<Rank> ranks;  // All that have died so far, ascending.
};

}  // namespace weft
#endif  // WEFT_DEAD_SET_H_
