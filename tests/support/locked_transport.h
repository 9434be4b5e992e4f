// A transport for callers that hold no lock, where a ServiceThread runs beside them: it has the
// lock itself, in the place of an Engine.
#ifndef WEFT_TESTS_SUPPORT_LOCKED_TRANSPORT_H_
#define WEFT_TESTS_SUPPORT_LOCKED_TRANSPORT_H_

#include <mutex>
#include <string>
#include <string_view>

#include "tests/support/forwarding_transport.h"

namespace weft {

class LockedTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  // For the ServiceThread.
  Mutex& mutex() { return mutex_; }

  std::string Address() const override {
    const std::lock_guard lock(mutex_);
    return inner_->Address();
  }
  absl::Status Connect(Rank peer, std::string_view address) override {
    const std::lock_guard lock(mutex_);
    return inner_->Connect(peer, address);
  }
  absl::StatusOr<RemoteRegion> Import(Rank peer, std::string_view key) override {
    const std::lock_guard lock(mutex_);
    return inner_->Import(peer, key);
  }
  std::string WhyLost(Rank peer) override {
    const std::lock_guard lock(mutex_);
    return inner_->WhyLost(peer);
  }
  void Abandon(Rank peer, Lane lane) override {
    const std::lock_guard lock(mutex_);
    inner_->Abandon(peer, lane);
  }
  size_t Post(Rank peer, std::span<const Op> ops) override {
    const std::lock_guard lock(mutex_);
    return inner_->Post(peer, ops);
  }
  size_t Poll(std::span<Event> events) override {
    const std::lock_guard lock(mutex_);
    return inner_->Poll(events);
  }
  Armed Arm() override {
    const std::lock_guard lock(mutex_);
    return inner_->Arm();
  }

 private:
  mutable Mutex mutex_;
};

}  // namespace weft
#endif  // WEFT_TESTS_SUPPORT_LOCKED_TRANSPORT_H_
