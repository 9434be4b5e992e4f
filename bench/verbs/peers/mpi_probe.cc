// What raw_probe.cc measures, on MPI's one-sided operations.
//   mpirun -n 2 mpi_probe [--devices=rxe0,rxe1]
#include <mpi.h>

#include "bench/verbs/peers/peer.h"
#include "bench/verbs/peers/start.h"

namespace weft::bench {
namespace {

// MPI ends the job by itself when a call fails.
class MpiPeer : public Peer {
 public:
  explicit MpiPeer(int other) : other_(other) {
    MPI_Win_allocate(kMemoryBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  }
  ~MpiPeer() override {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  void* memory() override { return memory_; }

  void PostPut(size_t offset, const void* from, size_t bytes) override {
    const int count = static_cast<int>(bytes);
    MPI_Put(from, count, MPI_BYTE, other_, static_cast<MPI_Aint>(offset), count, MPI_BYTE, window_);
  }
  void PostGet(size_t offset, void* to, size_t bytes) override {
    const int count = static_cast<int>(bytes);
    MPI_Get(to, count, MPI_BYTE, other_, static_cast<MPI_Aint>(offset), count, MPI_BYTE, window_);
  }
  void Flush() override { MPI_Win_flush(other_, window_); }
  void Get(size_t offset, void* to, size_t bytes) override {
    PostGet(offset, to, bytes);
    Flush();
  }
  void FetchAdd(size_t offset, uint64_t operand) override {
    uint64_t before;
    MPI_Fetch_and_op(&operand, &before, MPI_UINT64_T, other_, static_cast<MPI_Aint>(offset),
                     MPI_SUM, window_);
    Flush();
  }
  void CompareSwap(size_t offset, uint64_t compare, uint64_t value) override {
    uint64_t before;
    MPI_Compare_and_swap(&value, &compare, &before, MPI_UINT64_T, other_,
                         static_cast<MPI_Aint>(offset), window_);
    Flush();
  }
  void Meet() override { MPI_Barrier(MPI_COMM_WORLD); }

 private:
  const int other_;
  void* memory_ = nullptr;
  MPI_Win window_;
};

int Run(int argc, char** argv) {
  BecomeRank(argc, argv);
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  {
    MpiPeer peer(1 - rank);
    Probe(rank, Sampler(argc, argv), peer);
  }
  return MPI_Finalize();
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::Run(argc, argv); }
