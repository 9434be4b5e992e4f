// A decorator that asks for a service thread and has nothing for it to do: with one, the Engine
// holds short puts back, over any transport.
#ifndef WEFT_TESTS_SUPPORT_SERVED_TRANSPORT_H_
#define WEFT_TESTS_SUPPORT_SERVED_TRANSPORT_H_

#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "tests/support/forwarding_transport.h"

namespace weft {

class ServedTransport final : public ForwardingTransport {
 public:
  explicit ServedTransport(std::unique_ptr<Transport> inner)
      : ForwardingTransport(std::move(inner)), caps_(inner_->caps()) {
    caps_.needs_service = true;
  }

  const Caps& caps() const override { return caps_; }
  void Serve(Mutex&, Deadline deadline) override {
    absl::SleepFor(absl::Nanoseconds(deadline.RemainingNanos()));
  }

 private:
  Caps caps_;
};

}  // namespace weft
#endif  // WEFT_TESTS_SUPPORT_SERVED_TRANSPORT_H_
