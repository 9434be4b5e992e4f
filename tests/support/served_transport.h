// A decorator that asks for a service thread and has nothing for it to do: with one, the Engine
// holds short puts back, over any transport.
#ifndef WEFT_TESTS_SUPPORT_SERVED_TRANSPORT_H_
#define WEFT_TESTS_SUPPORT_SERVED_TRANSPORT_H_

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "runtime/transport/transport.h"

namespace weft {

class ServedTransport final : public Transport {
 public:
  explicit ServedTransport(std::unique_ptr<Transport> inner)
      : inner_(std::move(inner)), caps_(inner_->caps()) {
    caps_.needs_service = true;
  }

  const Caps& caps() const override { return caps_; }
  absl::StatusOr<std::unique_ptr<Registration>> Register(const Segment& segment) override {
    return inner_->Register(segment);
  }
  std::string Address() const override { return inner_->Address(); }
  absl::Status Connect(Rank peer, std::string_view address) override {
    return inner_->Connect(peer, address);
  }
  absl::StatusOr<RemoteRegion> Import(Rank peer, std::string_view key) override {
    return inner_->Import(peer, key);
  }
  std::string WhyLost(Rank peer) override { return inner_->WhyLost(peer); }
  void Abandon(Rank peer, Lane lane) override { inner_->Abandon(peer, lane); }
  size_t Post(Rank peer, std::span<const Op> ops) override { return inner_->Post(peer, ops); }
  size_t Poll(std::span<Event> events) override { return inner_->Poll(events); }
  Armed Arm() override { return inner_->Arm(); }
  void Serve(std::mutex&, Deadline deadline) override {
    absl::SleepFor(absl::Nanoseconds(deadline.RemainingNanos()));
  }

 private:
  const std::unique_ptr<Transport> inner_;
  Caps caps_;
};

}  // namespace weft
#endif  // WEFT_TESTS_SUPPORT_SERVED_TRANSPORT_H_
