// A transport for callers that hold no lock, where a ServiceThread runs beside them: it has the
// lock itself, in the place of an Engine.
#ifndef WEFT_TESTS_SUPPORT_LOCKED_TRANSPORT_H_
#define WEFT_TESTS_SUPPORT_LOCKED_TRANSPORT_H_

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/transport/transport.h"

namespace weft {

class LockedTransport final : public Transport {
 public:
  explicit LockedTransport(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}

  // For the ServiceThread.
  std::mutex& mutex() { return mutex_; }

  const Caps& caps() const override { return inner_->caps(); }
  absl::StatusOr<std::unique_ptr<Registration>> Register(const Segment& segment) override {
    return inner_->Register(segment);
  }
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
  void Serve(std::mutex& mutex, Deadline deadline) override { inner_->Serve(mutex, deadline); }

 private:
  mutable std::mutex mutex_;
  const std::unique_ptr<Transport> inner_;
};

}  // namespace weft
#endif  // WEFT_TESTS_SUPPORT_LOCKED_TRANSPORT_H_
