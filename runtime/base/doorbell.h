// The doorbell: how a thread sleeps until another rank has something for it,
// at no cost to those who ring a rank that nobody sleeps on. The bell is in
// shared memory, so any thread of any process of the node may ring or sleep.
//
// A ringer publishes (an atomic read-modify-write or a seq_cst fence after its
// stores), then calls Ring, which costs one load while nobody sleeps. A sleeper
// arms the bell, looks once more at what it waits for, and sleeps. The ringer
// clears the state, not the sleeper: a count that sleepers decrement would cost
// system calls until they run.
#ifndef WEFT_RUNTIME_BASE_DOORBELL_H_
#define WEFT_RUNTIME_BASE_DOORBELL_H_

#include <cstdint>

#include "runtime/base/control_layout.h"

namespace weft {

// Wakes everybody who sleeps on `bell`, whether or not the state says so. For
// those who must not trust the state: a guard that reports a death.
void RingAlways(DoorbellLine& bell);

// Out of line part of Ring.
void RingArmed(DoorbellLine& bell);

// The caller's stores are already ordered before this by a seq_cst operation.
inline void Ring(DoorbellLine& bell) {
  if (bell.state.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
    RingArmed(bell);
  }
}

// Arms the bell and returns the ticket to sleep with. The caller must look at
// what it waits for between Arm and Sleep.
uint32_t ArmDoorbell(DoorbellLine& bell);

// Sleeps until the bell rings after Arm returned `ticket`, a signal arrives, or
// `timeout_ns` has passed; may return early.
void SleepOnDoorbell(DoorbellLine& bell, uint32_t ticket, int64_t timeout_ns);

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_DOORBELL_H_
