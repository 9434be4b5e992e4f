// What raw_probe.cc measures, on Weft's public API: rank 0 times operations on the memory of
// rank 1, which computes elsewhere meanwhile.
//   weftrun -n 2 tests/verbs/over_verbs weft_probe
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "bench/verbs/sampling.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace {

using weft::bench::kBatch;
using weft::bench::kLargeBytes;
using weft::bench::kMediumBatch;
using weft::bench::kMediumBytes;
using weft::bench::kRateDepth;
using weft::bench::kSingle;
using weft::bench::Sampler;
using weft::bench::Samples;

// Sampler::Measure of what has a Status.
absl::Status Measure(const Sampler& sampler, const char* name, const Samples& samples,
                     double operations, absl::FunctionRef<absl::Status()> step) {
  absl::Status status;
  sampler.Measure(name, samples, operations, [&] {
    status = step();
    return status.ok();
  });
  return status;
}

absl::Status MeasureWords(const Sampler& sampler, weft::RemotePtr<uint64_t> word) {
  WEFT_TRY(Measure(sampler, "put8", kSingle, 1, [&] { return weft::Put(word, uint64_t{1}); }));
  WEFT_TRY(Measure(sampler, "get8", kSingle, 1, [&] { return weft::Get(word).status(); }));
  WEFT_TRY(Measure(sampler, "fadd", kSingle, 1,
                   [&] { return weft::FetchAdd(word, uint64_t{1}).status(); }));
  WEFT_TRY(Measure(sampler, "cas", kSingle, 1,
                   [&] { return weft::CompareSwap(word, uint64_t{0}, uint64_t{0}).status(); }));
  return Measure(sampler, "put8_rate", kBatch, kRateDepth, [&] {
    for (uint64_t i = 0; i < kRateDepth; ++i) weft::PostPut(word, i);
    return weft::Flush(word.rank());
  });
}

// `near`: memory of this process, for a batch.
absl::Status MeasureBandwidth(const Sampler& sampler, weft::RemotePtr<char> far,
                              std::span<char> near) {
  WEFT_TRY(Measure(sampler, "put_bw_64k", kBatch, kMediumBatch, [&] {
    for (uint64_t i = 0; i < kMediumBatch; ++i) {
      weft::PostPut(far + i * kMediumBytes, near.subspan(i * kMediumBytes, kMediumBytes));
    }
    return weft::Flush(far.rank());
  }));
  WEFT_TRY(Measure(sampler, "get_bw_64k", kBatch, kMediumBatch, [&] {
    for (uint64_t i = 0; i < kMediumBatch; ++i) {
      weft::PostGet(far + i * kMediumBytes, near.subspan(i * kMediumBytes, kMediumBytes));
    }
    return weft::Flush(far.rank());
  }));
  WEFT_TRY(Measure(sampler, "put_bw_1m", kBatch, 1, [&] { return weft::Put(far, near); }));
  return Measure(sampler, "get_bw_1m", kBatch, 1, [&] { return weft::Get(far, near); });
}

absl::Status Initiate(const Sampler& sampler, weft::RemotePtr<uint64_t> word,
                      weft::RemotePtr<char> data) {
  WEFT_TRY(MeasureWords(sampler, word));
  const auto near = WEFT_TRY(weft::Allocate<char>(kLargeBytes));
  WEFT_TRY(MeasureBandwidth(sampler, data, {weft::Local(near), kLargeBytes}));
  std::vector<char> unregistered(kLargeBytes, 'w');
  return Measure(sampler, "put_bw_1m_unregistered", kBatch, 1,
                 [&] { return weft::Put(data, unregistered); });
}

absl::Status Run(weft::World& world, const Sampler& sampler) {
  if (world.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("2 ranks are needed, not ", world.size()));
  }
  auto words = WEFT_TRY(weft::Symmetric<uint64_t>::Create(world, 2));
  auto data = WEFT_TRY(weft::Symmetric<char>::Create(world, kLargeBytes));
  auto counter = WEFT_TRY(weft::NotificationCounter::Create(world));
  const weft::Rank peer = 1 - world.rank();
  const weft::RemotePtr<uint64_t> word = words.at(peer, 0), over = words.at(1, 1);
  if (world.rank() == 0) {
    WEFT_TRY(Initiate(sampler, word, data.at(peer)));
    WEFT_TRY(weft::Put(over, uint64_t{1}));
  } else {
    const std::atomic_ref<uint64_t> is_over(words.mine()[1]);
    while (is_over.load(std::memory_order_acquire) == 0) usleep(20'000);
  }
  WEFT_TRY(world.Barrier());
  const auto send = [&] { weft::PostPut(word, uint64_t{1}, counter); };
  if (world.rank() == 0) {
    WEFT_TRY(Measure(sampler.OfTwo(/*quiet=*/false), "notify8", kSingle, 2, [&] {
      send();
      return counter.Wait(1);
    }));
  } else {
    WEFT_TRY(Measure(sampler.OfTwo(/*quiet=*/true), "", kSingle, 2, [&] {
      absl::Status arrived = counter.Wait(1);
      send();
      return arrived;
    }));
  }
  return world.Barrier();
}

}  // namespace

int main(int argc, char** argv) {
  const Sampler sampler(argc, argv);
  return weft::Main([&](weft::World& world) { return Run(world, sampler); });
}
