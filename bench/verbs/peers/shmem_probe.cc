// What raw_probe.cc measures, on OpenSHMEM.
//   oshrun -n 2 shmem_probe [--devices=rxe0,rxe1]
#include <shmem.h>

#include "bench/verbs/peers/peer.h"
#include "bench/verbs/peers/start.h"

namespace weft::bench {
namespace {

// OpenSHMEM ends the job by itself when a call fails.
class ShmemPeer : public Peer {
 public:
  explicit ShmemPeer(int other) : other_(other) {
    memory_ = static_cast<char*>(shmem_align(kData, kMemoryBytes));
    if (memory_ == nullptr) shmem_global_exit(1);
  }
  ~ShmemPeer() override { shmem_free(memory_); }
  void* memory() override { return memory_; }

  void PostPut(size_t offset, const void* from, size_t bytes) override {
    shmem_putmem_nbi(memory_ + offset, from, bytes, other_);
  }
  void PostGet(size_t offset, void* to, size_t bytes) override {
    shmem_getmem_nbi(to, memory_ + offset, bytes, other_);
  }
  void Flush() override { shmem_quiet(); }
  void Get(size_t offset, void* to, size_t bytes) override {
    shmem_getmem(to, memory_ + offset, bytes, other_);
  }
  void FetchAdd(size_t offset, uint64_t operand) override {
    shmem_ulong_atomic_fetch_add(Word(offset), operand, other_);
  }
  void CompareSwap(size_t offset, uint64_t compare, uint64_t value) override {
    shmem_ulong_atomic_compare_swap(Word(offset), compare, value, other_);
  }
  void Meet() override { shmem_barrier_all(); }

 private:
  uint64_t* Word(size_t offset) { return reinterpret_cast<uint64_t*>(memory_ + offset); }

  const int other_;
  char* memory_;
};

int Run(int argc, char** argv) {
  BecomeRank(argc, argv);
  shmem_init();
  if (shmem_n_pes() != 2) shmem_global_exit(2);
  {
    ShmemPeer peer(1 - shmem_my_pe());
    Probe(shmem_my_pe(), Sampler(argc, argv), peer);
  }
  shmem_finalize();
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::Run(argc, argv); }
