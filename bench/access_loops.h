// The loops that are timed, ours and the references': each a function of its
// own that is not inlined, all compiled alike, with the address in a register
// whose value the compiler does not know.
#ifndef WEFT_BENCH_ACCESS_LOOPS_H_
#define WEFT_BENCH_ACCESS_LOOPS_H_

#include <cstdint>

#include "weft/rank.h"
#include "weft/remote_ptr.h"

namespace weft::bench {

// `n` operations on one word; false if one failed.
bool PutLoop(RemotePtr<uint64_t> word, uint64_t n);
bool GetLoop(RemotePtr<uint64_t> word, uint64_t n);
bool PutFlushLoop(RemotePtr<uint64_t> word, uint64_t n);
bool PostPutLoop(RemotePtr<uint64_t> word, uint64_t n);
bool FetchAddLoop(RemotePtr<uint64_t> word, uint64_t n);
bool CompareSwapLoop(RemotePtr<uint64_t> word, uint64_t n);

// The same on the same memory by plain C++.
bool StoreLoop(uint64_t* word, uint64_t n);
bool LoadLoop(uint64_t* word, uint64_t n);
bool StoreFenceLoop(uint64_t* word, uint64_t n);
bool AtomicAddLoop(uint64_t* word, uint64_t n);
bool AtomicCompareSwapLoop(uint64_t* word, uint64_t n);

// Both add 1 until the word was `end` or more before, and count their additions.
uint64_t FetchAddUntil(RemotePtr<uint64_t> word, uint64_t end);
uint64_t AtomicAddUntil(uint64_t* word, uint64_t end);

// Copies `bytes` bytes `n` times.
bool PutBytesLoop(RemotePtr<char> to, const char* from, uint64_t bytes, uint64_t n);
bool GetBytesLoop(RemotePtr<char> from, char* to, uint64_t bytes, uint64_t n);
bool CopyLoop(char* to, const char* from, uint64_t bytes, uint64_t n);

}  // namespace weft::bench
#endif  // WEFT_BENCH_ACCESS_LOOPS_H_
