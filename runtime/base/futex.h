// Sleeping on a word of memory that processes share, which whoever sleeps or wakes need not be
// able to write. Stateless; any thread may call.
#ifndef WEFT_RUNTIME_BASE_FUTEX_H_
#define WEFT_RUNTIME_BASE_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace weft {

// Sleeps until FutexWakeAll, unless the word is not `expected` any more. May return early, as
// on a signal. No `timeout`: for ever.
inline void FutexWait(const std::atomic<uint32_t>& word, uint32_t expected,
                      const timespec* timeout = nullptr) {
  // Shared between processes, so never FUTEX_PRIVATE_FLAG.
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, timeout, nullptr, 0);
}

inline void FutexWakeAll(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_FUTEX_H_
