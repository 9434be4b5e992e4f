// Holds a thread up now and then, for a moment or until others may fall asleep, so that threads
// that meet do so in ever other orders.
#ifndef WEFT_TESTS_SUPPORT_STUMBLE_H_
#define WEFT_TESTS_SUPPORT_STUMBLE_H_

#include <sched.h>

#include <cstdint>
#include <random>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/waiter.h"

namespace weft {

inline void Stumble(std::minstd_rand& random) {
  const uint32_t dice = random() % 1000;
  if (dice < 2) {
    absl::SleepFor(absl::Microseconds(800 + random() % 500));  // Others may fall asleep.
  } else if (dice < 20) {
    sched_yield();
  } else if (dice < 300) {
    for (uint32_t i = random() % 200; i > 0; --i) CpuPause();
  }
}

}  // namespace weft
#endif  // WEFT_TESTS_SUPPORT_STUMBLE_H_
