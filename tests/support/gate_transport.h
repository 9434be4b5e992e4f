// A decorator under a test's control, where the fault transport leaves things
// to chance: while its gate is shut it accepts operations and carries out none,
// or refuses those to one peer. The gate may be moved by any thread.
#ifndef WEFT_TESTS_SUPPORT_GATE_TRANSPORT_H_
#define WEFT_TESTS_SUPPORT_GATE_TRANSPORT_H_

#include <atomic>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/transport/transport.h"

namespace weft {

struct Gate {
  static constexpr Rank kNobody = kMaxRanks;
  std::atomic<bool> shut = false;
  std::atomic<Rank> full_peer = kNobody;
};

class GateTransport final : public Transport {
 public:
  GateTransport(std::unique_ptr<Transport> inner, Gate& gate)
      : inner_(std::move(inner)), gate_(gate) {}

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
  void Abandon(Rank peer, Lane lane) override;

  size_t Post(Rank peer, std::span<const Op> ops) override;
  size_t Poll(std::span<Event> events) override;
  Armed Arm() override;
  void Serve(std::mutex& mutex, Deadline deadline) override { inner_->Serve(mutex, deadline); }

 private:
  struct Held {
    Rank peer;
    Op op;
  };

  const std::unique_ptr<Transport> inner_;
  Gate& gate_;
  std::deque<Held> held_;
  std::deque<Event> dropped_;
};

}  // namespace weft
#endif  // WEFT_TESTS_SUPPORT_GATE_TRANSPORT_H_
