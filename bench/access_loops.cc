#include "bench/access_loops.h"

#include <atomic>
#include <cstring>
#include <span>

#include "bench/measure.h"
#include "weft/access.h"
#include "weft/atomics.h"
#include "weft/order.h"

namespace weft::bench {
namespace {

RemotePtr<uint64_t> Opaque(RemotePtr<uint64_t> p) {
  return RemotePtr<uint64_t>::FromBits(bench::Opaque(p.bits()));
}
RemotePtr<char> Opaque(RemotePtr<char> p) {
  return RemotePtr<char>::FromBits(bench::Opaque(p.bits()));
}
uint64_t* Opaque(uint64_t* p) { return bench::Opaque(p); }

void Store(uint64_t* word, uint64_t value) {
  std::atomic_ref<uint64_t>(*word).store(value, std::memory_order_relaxed);
}
uint64_t Load(uint64_t* word) {
  return std::atomic_ref<uint64_t>(*word).load(std::memory_order_relaxed);
}

}  // namespace

[[gnu::noinline]] bool PutLoop(RemotePtr<uint64_t> word, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    if (!Put(Opaque(word), i).ok()) return false;
  }
  return true;
}
[[gnu::noinline]] bool StoreLoop(uint64_t* word, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) Store(Opaque(word), i);
  return true;
}

[[gnu::noinline]] bool GetLoop(RemotePtr<uint64_t> word, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    const auto value = Get(Opaque(word));
    if (!value.ok()) return false;
    bench::Opaque(*value);
  }
  return true;
}
[[gnu::noinline]] bool LoadLoop(uint64_t* word, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) bench::Opaque(Load(Opaque(word)));
  return true;
}

[[gnu::noinline]] bool PutFlushLoop(RemotePtr<uint64_t> word, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    const RemotePtr<uint64_t> to = Opaque(word);
    if (!Put(to, i).ok() || !Flush(to.rank()).ok()) return false;
  }
  return true;
}
[[gnu::noinline]] bool StoreFenceLoop(uint64_t* word, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    Store(Opaque(word), i);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  return true;
}

[[gnu::noinline]] bool PostPutLoop(RemotePtr<uint64_t> word, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) PostPut(Opaque(word), i);
  return true;
}

[[gnu::noinline]] bool FetchAddLoop(RemotePtr<uint64_t> word, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    const auto before = FetchAdd(Opaque(word), 1);
    if (!before.ok()) return false;
    bench::Opaque(*before);
  }
  return true;
}
[[gnu::noinline]] bool AtomicAddLoop(uint64_t* word, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    bench::Opaque(std::atomic_ref<uint64_t>(*Opaque(word)).fetch_add(1));
  }
  return true;
}

[[gnu::noinline]] bool CompareSwapLoop(RemotePtr<uint64_t> word, uint64_t n) {
  uint64_t expected = 0;
  for (uint64_t i = 0; i < n; ++i) {
    const auto before = CompareSwap(Opaque(word), expected, i + 1);
    if (!before.ok()) return false;
    // The first fails when an earlier loop left another value.
    expected = *before == expected ? i + 1 : *before;
  }
  return true;
}
[[gnu::noinline]] bool AtomicCompareSwapLoop(uint64_t* word, uint64_t n) {
  uint64_t expected = 0;
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t before = expected;
    std::atomic_ref<uint64_t>(*Opaque(word)).compare_exchange_strong(before, i + 1);
    expected = before == expected ? i + 1 : before;
  }
  return true;
}

[[gnu::noinline]] uint64_t FetchAddUntil(RemotePtr<uint64_t> word, uint64_t end) {
  for (uint64_t added = 1;; ++added) {
    const auto before = FetchAdd(Opaque(word), 1);
    if (!before.ok()) return 0;
    if (*before >= end) return added;
  }
}
[[gnu::noinline]] uint64_t AtomicAddUntil(uint64_t* word, uint64_t end) {
  for (uint64_t added = 1;; ++added) {
    if (std::atomic_ref<uint64_t>(*Opaque(word)).fetch_add(1) >= end) return added;
  }
}

[[gnu::noinline]] bool PutBytesLoop(RemotePtr<char> to, const char* from, uint64_t bytes,
                                    uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    if (!Put(Opaque(to), std::span<const char>(bench::Opaque(from), bytes)).ok()) return false;
  }
  return true;
}
[[gnu::noinline]] bool GetBytesLoop(RemotePtr<char> from, char* to, uint64_t bytes, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    if (!Get(Opaque(from), std::span<char>(bench::Opaque(to), bytes)).ok()) return false;
  }
  return true;
}
[[gnu::noinline]] bool CopyLoop(char* to, const char* from, uint64_t bytes, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    std::memcpy(bench::Opaque(to), bench::Opaque(from), bytes);
    asm volatile("" ::: "memory");
  }
  return true;
}

}  // namespace weft::bench
