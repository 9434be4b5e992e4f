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

#include "tests/support/forwarding_transport.h"

namespace weft {

struct Gate {
  static constexpr Rank kNobody = kMaxRanks;
  std::atomic<bool> shut = false;
  std::atomic<Rank> full_peer = kNobody;
};

class GateTransport final : public ForwardingTransport {
 public:
  GateTransport(std::unique_ptr<Transport> inner, Gate& gate)
      : ForwardingTransport(std::move(inner)), gate_(gate) {}

  void Abandon(Rank peer, Lane lane) override;

  size_t Post(Rank peer, std::span<const Op> ops) override;
  size_t Poll(std::span<Event> events) override;
  Armed Arm() override;

 private:
  struct Held {
    Rank peer;
    Op op;
  };

  Gate& gate_;
  std::deque<Held> held_;
  std::deque<Event> dropped_;
};

}  // namespace weft
#endif  // WEFT_TESTS_SUPPORT_GATE_TRANSPORT_H_
