// The reference of `tools/bench verbs`: two processes on bare verbs, of which the first
// times operations on the memory of the second.
//   raw_probe [--devices=rxe0,rxe1] [--added=PERCENT]
#include <sys/mman.h>
#include <unistd.h>

#include "bench/verbs/device.h"
#include "bench/verbs/process_pair.h"
#include "bench/verbs/raw_pair.h"
#include "bench/verbs/sampling.h"

namespace weft::bench {
namespace {

// The first words are for what is 8 bytes long, the rest for the others.
constexpr size_t kWord = 0;
constexpr size_t kData = 4096;
constexpr size_t kMemoryBytes = kData + kLargeBytes;

// Immediates are as costly as a completion; so the queue never fills, one in 16 asks for one.
constexpr uint64_t kSignalEach = 16;

class PingPong {
 public:
  explicit PingPong(RawPair& pair) : pair_(pair) {}
  void Send() {
    const bool signalled = ++sent_ % kSignalEach == 0;
    pair_.Post(
        {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
         .offset = kWord,
         .length = 8,
         .flags = unsigned{IBV_SEND_INLINE} | (signalled ? unsigned{IBV_SEND_SIGNALED} : 0)});
    if (signalled) pair_.AwaitSent();
  }
  void Receive() { pair_.AwaitArrival(); }

 private:
  RawPair& pair_;
  uint64_t sent_ = 0;
};

void Single(const Sampler& sampler, RawPair& pair, const char* name,
            const RawPair::Request& request) {
  sampler.Measure(name, kSingle, 1, [&] {
    pair.Post(request);
    pair.AwaitSent();
    return true;
  });
}

void Bandwidth(const Sampler& sampler, RawPair& pair, const char* name, ibv_wr_opcode opcode,
               size_t bytes, uint64_t count) {
  sampler.Measure(name, kBatch, static_cast<double>(count), [&] {
    for (uint64_t i = 0; i < count; ++i) {
      pair.Post({.opcode = opcode, .offset = kData + i * bytes, .length = bytes});
    }
    pair.AwaitSent(static_cast<uint32_t>(count));
    return true;
  });
}

void Initiate(const Sampler& sampler, RawPair& pair, int socket) {
  Single(sampler, pair, "put8",
         {.opcode = IBV_WR_RDMA_WRITE,
          .offset = kWord,
          .length = 8,
          .flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED});
  Single(sampler, pair, "get8", {.opcode = IBV_WR_RDMA_READ, .offset = kWord, .length = 8});
  Single(sampler, pair, "fadd",
         {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .offset = kWord, .length = 8, .operand = 1});
  Single(sampler, pair, "cas", {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .offset = kWord, .length = 8});
  sampler.Measure("put8_rate", kBatch, kRateDepth, [&] {
    for (uint64_t i = 1; i <= kRateDepth; ++i) {
      const bool signalled = i % kSignalEach == 0;
      pair.Post(
          {.opcode = IBV_WR_RDMA_WRITE,
           .offset = kWord,
           .length = 8,
           .flags = unsigned{IBV_SEND_INLINE} | (signalled ? unsigned{IBV_SEND_SIGNALED} : 0)});
    }
    pair.AwaitSent(kRateDepth / kSignalEach);
    return true;
  });
  Bandwidth(sampler, pair, "put_bw_64k", IBV_WR_RDMA_WRITE, kMediumBytes, kMediumBatch);
  Bandwidth(sampler, pair, "get_bw_64k", IBV_WR_RDMA_READ, kMediumBytes, kMediumBatch);
  Bandwidth(sampler, pair, "put_bw_1m", IBV_WR_RDMA_WRITE, kLargeBytes, 1);
  Bandwidth(sampler, pair, "get_bw_1m", IBV_WR_RDMA_READ, kLargeBytes, 1);
  const char go = 0;
  Require(write(socket, &go, 1) == 1, "peer to answer");
  PingPong ping(pair);
  sampler.OfTwo(/*quiet=*/false).Measure("notify8", kSingle, 2, [&] {
    ping.Send();
    ping.Receive();
    return true;
  });
}

int Probe(int argc, char** argv) {
  const Sampler sampler(argc, argv);
  const ProcessPair processes;
  void* const memory = mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  Require(memory != MAP_FAILED, "memory");
  const int socket = processes.socket();
  RawPair pair(DeviceOf(argc, argv, processes.me()),
               {static_cast<std::byte*>(memory), kMemoryBytes}, socket);
  if (processes.me() == 1) {
    // It takes part in the last measurement alone, and sleeps until then.
    PingPong pong(pair);
    char go;
    Require(read(socket, &go, 1) == 1, "peer that goes on");
    sampler.OfTwo(/*quiet=*/true).Measure("", kSingle, 2, [&] {
      pong.Receive();
      pong.Send();
      return true;
    });
    // What was sent last may be on its way until the other side closes.
    Require(read(socket, &go, 1) == 0, "end of the peer");
    return 0;
  }
  Initiate(sampler, pair, socket);
  processes.AwaitSecond();
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) { return weft::bench::Probe(argc, argv); }
