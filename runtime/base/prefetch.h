// A hint to the cpu, without effect on what a program computes. Stateless; any
// thread may call.
#ifndef WEFT_RUNTIME_BASE_PREFETCH_H_
#define WEFT_RUNTIME_BASE_PREFETCH_H_

namespace weft {

// Starts to fetch the cache line of `p` for a write. An atomic read-modify-write
// of a line that another cpu holds waits until the stores before it are done, and
// only then asks for the line: behind this hint the two overlap.
inline void PrefetchForWrite(void* p) {
#if defined(__x86_64__)
  // The builtin would fetch for a read: gcc's baseline knows no prefetchw, which
  // every x86-64 cpu executes, if only as a no-op.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_PREFETCH_H_
