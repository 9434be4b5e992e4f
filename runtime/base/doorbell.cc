#include "runtime/base/doorbell.h"

#include <time.h>

#include "runtime/base/futex.h"

namespace weft {

void RingAlways(DoorbellLine& bell) {
  bell.state.exchange(0, std::memory_order_seq_cst);
  bell.word.fetch_add(1, std::memory_order_seq_cst);
  FutexWakeAll(bell.word);
}

void RingArmed(DoorbellLine& bell) {
  // Of several ringers, one wakes.
  if (bell.state.exchange(0, std::memory_order_seq_cst) == 0) return;
  bell.word.fetch_add(1, std::memory_order_seq_cst);
  FutexWakeAll(bell.word);
}

uint32_t ArmDoorbell(DoorbellLine& bell) {
  const uint32_t ticket = bell.word.load(std::memory_order_seq_cst);
  bell.state.exchange(1, std::memory_order_seq_cst);
  return ticket;
}

void SleepOnDoorbell(DoorbellLine& bell, uint32_t ticket, int64_t timeout_ns) {
  if (timeout_ns <= 0) return;
  const timespec timeout = {.tv_sec = timeout_ns / 1'000'000'000,
                            .tv_nsec = timeout_ns % 1'000'000'000};
  FutexWait(bell.word, ticket, &timeout);
}

}  // namespace weft
