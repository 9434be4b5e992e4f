// A transport that goes nowhere: it notes what it is given and completes it
// when the test says so. For tests of what stands on the seam, from below. The
// test may call its own methods from any thread.
#ifndef WEFT_TESTS_SUPPORT_NOTING_TRANSPORT_H_
#define WEFT_TESTS_SUPPORT_NOTING_TRANSPORT_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/transport/transport.h"

namespace weft {

// What passes through; outlives the transport.
class TransportNotes {
 public:
  struct Posted {
    Rank peer;
    Op op;
  };

  // Completes operation `index`, the first one of which is 0, and tells of it if it has a token.
  void Complete(size_t index, Event::Result result = Event::Result::kOk);
  void CompleteAll();
  // From now on at most so many more operations are accepted.
  void SetRoom(size_t room);
  // Whether whatever is posted is complete at the next Poll.
  void CompleteAtOnce(bool at_once = true) { at_once_ = at_once; }

  std::vector<Posted> posted() const;
  // Polls that told of nothing.
  size_t empty_polls() const;
  // How often the Engine let a thread serve, each time after a look for held operations.
  size_t serves() const;
  std::vector<Lane> abandoned() const;

 private:
  friend class NotingTransport;

  void Tell(const Posted& posted, Event::Result result);

  mutable std::mutex mutex_;
  std::vector<Posted> posted_;
  std::vector<bool> completed_;  // Of posted_.
  std::vector<Lane> abandoned_;
  std::deque<Event> events_;
  size_t room_ = SIZE_MAX;
  size_t empty_polls_ = 0;
  size_t serves_ = 0;
  bool at_once_ = false;
};

class NotingTransport final : public Transport {
 public:
  // Every peer's segments are of `segment_bytes`.
  NotingTransport(TransportNotes& notes, uint64_t segment_bytes, uint64_t max_length = UINT64_MAX,
                  bool needs_service = false);

  const Caps& caps() const override { return caps_; }
  absl::StatusOr<std::unique_ptr<Registration>> Register(const Segment& segment) override;
  std::string Address() const override { return "nowhere"; }
  absl::Status Connect(Rank peer, std::string_view address) override;
  absl::StatusOr<RemoteRegion> Import(Rank peer, std::string_view key) override;
  void Abandon(Rank peer, Lane lane) override;

  size_t Post(Rank peer, std::span<const Op> ops) override;
  size_t Poll(std::span<Event> events) override;
  Armed Arm() override;
  void Serve(Mutex&, Deadline deadline) override;

 private:
  TransportNotes& notes_;
  const uint64_t segment_bytes_;
  const Caps caps_;
};

}  // namespace weft
#endif  // WEFT_TESTS_SUPPORT_NOTING_TRANSPORT_H_
