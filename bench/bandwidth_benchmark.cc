// Puts and gets of 4 KiB to 8 MiB between a buffer of this process and the slab
// of another rank of the node, beside memcpy between the same two buffers.
//   weftrun -n 2 bandwidth_benchmark
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/access_loops.h"
#include "bench/pair_benchmark.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace {

constexpr uint64_t kLargest = 8 << 20;
// A block: long enough for the clock, short enough to be left alone.
constexpr uint64_t kBlockBytes = 16 << 20;

absl::Status Run(weft::bench::PairSuite& suite) {
  using namespace weft::bench;  // NOLINT(build/namespaces): the loops
  const auto heap = WEFT_TRY(weft::Symmetric<char>::Create(suite.world(), kLargest));
  const weft::RemotePtr<char> remote = heap.at(suite.target());
  char* const raw = weft::Local(remote);
  if (raw == nullptr) return absl::FailedPreconditionError("the last rank is on another node");
  const std::unique_ptr<char[], decltype(&std::free)> buffer(
      static_cast<char*>(std::aligned_alloc(4096, kLargest)), &std::free);
  char* const mine = buffer.get();
  std::fill_n(mine, kLargest, 'w');

  const auto add = [&](std::string figure, uint64_t bytes, auto ours, auto reference) {
    suite.Add({.figure = std::move(figure),
               .reference = "memcpy",
               .ours = ours,
               .measure_against = reference,
               .operations = kBlockBytes / bytes,
               .rate_unit = "GB/s",
               .units_per_operation = static_cast<double>(bytes) / 1e9});
  };
  const std::pair<const char*, uint64_t> sizes[] = {
      {"4k", 4 << 10}, {"64k", 64 << 10}, {"1m", 1 << 20}, {"8m", 8 << 20}};
  for (const auto& [name, size] : sizes) {
    const uint64_t bytes = size;
    add(
        absl::StrCat("put_bw_", name), bytes,
        [=](uint64_t n) { return PutBytesLoop(remote, mine, bytes, n); },
        [=](uint64_t n) { return CopyLoop(raw, mine, bytes, n); });
  }
  for (const auto& [name, size] : sizes) {
    const uint64_t bytes = size;
    add(
        absl::StrCat("get_bw_", name), bytes,
        [=](uint64_t n) { return GetBytesLoop(remote, mine, bytes, n); },
        [=](uint64_t n) { return CopyLoop(mine, raw, bytes, n); });
  }
  return suite.Run();
}

}  // namespace

int main(int argc, char** argv) { return weft::bench::PairMain(argc, argv, Run); }
