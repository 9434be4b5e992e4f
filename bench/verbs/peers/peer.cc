#include "bench/verbs/peers/peer.h"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "absl/functional/function_ref.h"

namespace weft::bench {
namespace {

void Time(const Sampler& sampler, const char* name, const Samples& samples, double operations,
          absl::FunctionRef<void()> step) {
  sampler.Measure(name, samples, operations, [&] {
    step();
    return true;
  });
}

void TimeTransfers(const Sampler& sampler, Peer& peer) {
  std::vector<char> near(kLargeBytes, 'w');
  uint64_t word = 1;
  Time(sampler, "put8", kSingle, 1, [&] {
    peer.PostPut(Peer::kWord, &word, sizeof(word));
    peer.Flush();
  });
  Time(sampler, "get8", kSingle, 1, [&] { peer.Get(Peer::kWord, &word, sizeof(word)); });
  Time(sampler, "put8_rate", kBatch, kRateDepth, [&] {
    for (uint64_t i = 0; i < kRateDepth; ++i) peer.PostPut(Peer::kWord, &word, sizeof(word));
    peer.Flush();
  });
  Time(sampler, "put_bw_64k", kBatch, kMediumBatch, [&] {
    for (size_t at = 0; at < kMediumBatch * kMediumBytes; at += kMediumBytes) {
      peer.PostPut(Peer::kData + at, &near[at], kMediumBytes);
    }
    peer.Flush();
  });
  Time(sampler, "get_bw_64k", kBatch, kMediumBatch, [&] {
    for (size_t at = 0; at < kMediumBatch * kMediumBytes; at += kMediumBytes) {
      peer.PostGet(Peer::kData + at, &near[at], kMediumBytes);
    }
    peer.Flush();
  });
  Time(sampler, "put_bw_1m", kBatch, 1, [&] {
    peer.PostPut(Peer::kData, near.data(), kLargeBytes);
    peer.Flush();
  });
  Time(sampler, "get_bw_1m", kBatch, 1, [&] { peer.Get(Peer::kData, near.data(), kLargeBytes); });
}

}  // namespace

void Probe(int rank, const Sampler& sampler, Peer& peer) {
  std::memset(peer.memory(), 0, Peer::kMemoryBytes);
  peer.Meet();
  const uint64_t one = 1;
  if (rank == 1) {
    peer.Meet();  // Libraries connect at the first operation, with the target's help.
    const std::atomic_ref<uint64_t> is_over(
        *reinterpret_cast<uint64_t*>(static_cast<char*>(peer.memory()) + Peer::kOver));
    while (is_over.load(std::memory_order_acquire) == 0) usleep(20'000);
    peer.Meet();
    return;
  }
  peer.PostPut(Peer::kWord, &one, sizeof(one));
  peer.Flush();
  peer.Meet();
  TimeTransfers(sampler, peer);
  peer.PostPut(Peer::kOver, &one, sizeof(one));
  peer.Flush();
  Time(sampler, "fadd", kSingle, 1, [&] { peer.FetchAdd(Peer::kWord, 1); });
  Time(sampler, "cas", kSingle, 1, [&] { peer.CompareSwap(Peer::kWord, 0, 0); });
  peer.Meet();
}

}  // namespace weft::bench
