// Data and a notification, back and forth between two ranks: the time one way,
// beside data and a flag through the same memory by hand.
//   weftrun -n 2 notify
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/lockstep.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace {

using weft::bench::BlockWork;

// The flag is behind the data, on lines of its own.
struct alignas(128) Flag {
  uint64_t value;
};

// One end of the exchange. Both directions are alike: rank 0 sends first.
class Exchange {
 public:
  static absl::StatusOr<Exchange> Create(weft::World& world, uint64_t bytes, uint64_t trips) {
    auto data = WEFT_TRY(weft::Symmetric<char>::Create(world, bytes));
    auto flags = WEFT_TRY(weft::Symmetric<Flag>::Create(world));
    auto counter = WEFT_TRY(weft::NotificationCounter::Create(world));
    return Exchange(world, bytes, trips, std::move(data), std::move(flags), std::move(counter));
  }

  [[gnu::noinline]] absl::StatusOr<BlockWork> Notify() {
    const bool first = world_.rank() == 0;
    for (uint64_t i = 0; i < trips_; ++i) {
      if (!first) WEFT_TRY(counter_.Wait(1));
      if (source_.size() == sizeof(uint64_t)) {
        weft::PostPut(remote_.As<uint64_t>(), i, counter_);
      } else {
        weft::PostPut(remote_, std::span<const char>(source_), counter_);
      }
      if (first) WEFT_TRY(counter_.Wait(1));
    }
    return BlockWork{.operations = 2 * trips_};
  }

  [[gnu::noinline]] absl::StatusOr<BlockWork> ByHand() {
    const bool first = world_.rank() == 0;
    for (uint64_t i = 0; i < trips_; ++i) {
      ++value_;
      if (!first) WaitForFlag();
      if (source_.size() == sizeof(uint64_t)) {
        std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(raw_))
            .store(i, std::memory_order_relaxed);
      } else {
        std::memcpy(raw_, source_.data(), source_.size());
      }
      std::atomic_ref<uint64_t>(raw_flag_->value).store(value_, std::memory_order_release);
      if (first) WaitForFlag();
    }
    return BlockWork{.operations = 2 * trips_};
  }

 private:
  Exchange(weft::World& world, uint64_t bytes, uint64_t trips, weft::Symmetric<char> data,
           weft::Symmetric<Flag> flags, weft::NotificationCounter counter)
      : world_(world),
        trips_(trips),
        data_(std::move(data)),
        flags_(std::move(flags)),
        counter_(std::move(counter)),
        remote_(data_.at(1 - world.rank())),
        source_(bytes, 'w'),
        raw_(weft::Local(remote_)),
        raw_flag_(weft::Local(flags_.at(1 - world.rank()))) {}

  void WaitForFlag() {
    const std::atomic_ref<uint64_t> flag(flags_.mine()[0].value);
    while (flag.load(std::memory_order_acquire) != value_) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }

  weft::World& world_;
  const uint64_t trips_;
  weft::Symmetric<char> data_;
  weft::Symmetric<Flag> flags_;
  weft::NotificationCounter counter_;
  const weft::RemotePtr<char> remote_;
  const std::vector<char> source_;
  char* const raw_;
  Flag* const raw_flag_;
  uint64_t value_ = 0;
};

struct Size {
  const char* figure;
  uint64_t bytes;
  uint64_t trips;  // A block, of about 0.2 ms.
};

absl::Status Run(weft::World& world, const Size& size, uint64_t blocks) {
  if (world.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("notify needs 2 ranks, not ", world.size(), ": use weftrun -n 2"));
  }
  Exchange exchange = WEFT_TRY(Exchange::Create(world, size.bytes, size.trips));
  const auto pairs = WEFT_TRY(weft::bench::TimeInLockstep(
      world, blocks, [&](uint64_t) { return exchange.Notify(); },
      [&](uint64_t) { return exchange.ByHand(); }));
  if (world.rank() == 0) Print(LockstepFigure(size.figure, "data+flag", pairs));
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t blocks = weft::bench::NumberFlag(argc, argv, "blocks", 400);
  return weft::Main([&](weft::World& world) {
    absl::Status status;
    for (const Size& size :
         {Size{"notify8", 8, 1000}, Size{"notify4k", 4096, 1000}, Size{"notify64k", 65536, 100}}) {
      status.Update(Run(world, size, blocks));
    }
    return status;
  });
}
