#include "runtime/base/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace weft {
namespace {

// Shared between processes, so never FUTEX_PRIVATE_FLAG.
long Futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

void RingAlways(DoorbellLine& bell) {
  bell.state.exchange(0, std::memory_order_seq_cst);
  bell.word.fetch_add(1, std::memory_order_seq_cst);
  Futex(bell.word, FUTEX_WAKE, INT_MAX, nullptr);
}

void RingArmed(DoorbellLine& bell) {
  // Of several ringers, one wakes.
  if (bell.state.exchange(0, std::memory_order_seq_cst) == 0) return;
  bell.word.fetch_add(1, std::memory_order_seq_cst);
  Futex(bell.word, FUTEX_WAKE, INT_MAX, nullptr);
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
  Futex(bell.word, FUTEX_WAIT, ticket, &timeout);
}

}  // namespace weft
