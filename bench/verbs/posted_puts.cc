// Posts puts of 8 bytes to this rank's own memory, for tools/bench to count the
// instructions of PostPuts, under callgrind and over null_verbs.
//   WEFT_TRANSPORTS=verbs posted_puts
#include <cstdint>
#include <cstdio>

#include "absl/time/clock.h"
#include "bench/verbs/sampling.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace {

constexpr uint64_t kBatches = 100;

}  // namespace

// Has a name that callgrind's --toggle-collect can say.
extern "C" [[gnu::noinline]] bool PostPuts(weft::RemotePtr<uint64_t> word) {
  for (uint64_t i = 0; i < kBatches; ++i) {
    for (uint64_t j = 0; j < weft::bench::kRateDepth; ++j) weft::PostPut(word, j);
    if (!weft::Flush(word.rank()).ok()) return false;
  }
  return true;
}

int main() {
  return weft::Main([](weft::World& world) -> absl::Status {
    const auto words = WEFT_TRY(weft::Symmetric<uint64_t>::Create(world));
    // Until the service thread has seen that this rank posts: callgrind runs one thread at a time.
    const absl::Time seen = absl::Now() + absl::Milliseconds(300);
    while (absl::Now() < seen) {
      for (int i = 0; i < 100; ++i) weft::PostPut(words.at(world.rank()), uint64_t{1});
      WEFT_TRY(weft::Flush());
    }
    if (!PostPuts(words.at(world.rank()))) return absl::InternalError("a put failed");
    std::printf("puts=%llu\n", static_cast<unsigned long long>(kBatches * weft::bench::kRateDepth));
    return world.Barrier();
  });
}
