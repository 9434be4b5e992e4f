// A library beside which `tools/bench verbs --peers` measures Weft: the operations that all of
// them have, and the loop over these, which is that of raw_probe.cc.
//
// A fault ends the process, with a line that says what failed. One thread.
#ifndef WEFT_BENCH_VERBS_PEERS_PEER_H_
#define WEFT_BENCH_VERBS_PEERS_PEER_H_

#include <cstddef>
#include <cstdint>

#include "bench/verbs/sampling.h"

namespace weft::bench {

// One of two processes. Offsets are into the memory that each of them gives.
class Peer {
 public:
  // The words come first, then what is longer.
  static constexpr size_t kWord = 0;
  static constexpr size_t kOver = 64;
  static constexpr size_t kData = 4096;
  static constexpr size_t kMemoryBytes = kData + kLargeBytes;

  virtual ~Peer() = default;
  virtual void* memory() = 0;

  // What is posted is complete after Flush, and its local memory unchanged until then.
  virtual void PostPut(size_t offset, const void* from, size_t bytes) = 0;
  virtual void PostGet(size_t offset, void* to, size_t bytes) = 0;
  virtual void Flush() = 0;
  // These return when they are complete.
  virtual void Get(size_t offset, void* to, size_t bytes) = 0;
  virtual void FetchAdd(size_t offset, uint64_t operand) = 0;
  virtual void CompareSwap(size_t offset, uint64_t compare, uint64_t value) = 0;

  // Returns when both are in it, and answers the other meanwhile.
  virtual void Meet() = 0;
};

// The whole of one of the two processes: 0 times its operations on the memory of 1, which
// sleeps outside the library, but answers while the atomics run.
void Probe(int rank, const Sampler& sampler, Peer& peer);

}  // namespace weft::bench
#endif  // WEFT_BENCH_VERBS_PEERS_PEER_H_
