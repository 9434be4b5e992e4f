// A decorator that adds nothing: what others that do are made of.
#ifndef WEFT_TESTS_SUPPORT_FORWARDING_TRANSPORT_H_
#define WEFT_TESTS_SUPPORT_FORWARDING_TRANSPORT_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/transport/transport.h"

namespace weft {

class ForwardingTransport : public Transport {
 public:
  explicit ForwardingTransport(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}

  const Caps& caps() const override { return inner_->caps(); }
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
  void Serve(Mutex& mutex, Deadline deadline) override { inner_->Serve(mutex, deadline); }

 protected:
  const std::unique_ptr<Transport> inner_;
};

}  // namespace weft
#endif  // WEFT_TESTS_SUPPORT_FORWARDING_TRANSPORT_H_
