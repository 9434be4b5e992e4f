// The transport between ranks of one node: loads and stores to the peers'
// slabs, which this process has mapped. Every operation is carried out in Post
// by the calling thread; its completion waits in a ring of fixed size, and a
// full ring is the only back-pressure.
//
// It owns nothing of the node's memory: the NodeView must outlive it. Threads:
// as transport.h says; one caller at a time, but for Serve.
//
// A peer that the membership calls dead, or that was abandoned, is touched no
// more by us. That a dead peer no longer touches us is the guard's doing: it
// reaps before it publishes.
#ifndef WEFT_RUNTIME_TRANSPORT_SHM_SHM_TRANSPORT_H_
#define WEFT_RUNTIME_TRANSPORT_SHM_SHM_TRANSPORT_H_

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/node_view.h"
#include "runtime/transport/transport.h"

namespace weft {

class ShmTransport final : public Transport {
 public:
  // How many completions may wait for Poll.
  static constexpr size_t kMaxEvents = 1024;

  explicit ShmTransport(const NodeView& node);

  const Caps& caps() const override;

  absl::StatusOr<std::unique_ptr<Registration>> Register(const Segment& segment) override;
  std::string Address() const override;
  absl::Status Connect(Rank peer, std::string_view address) override;
  absl::StatusOr<RemoteRegion> Import(Rank peer, std::string_view key) override;
  void Abandon(Rank peer, Lane lane) override;

  size_t Post(Rank peer, std::span<const Op> ops) override;
  size_t Poll(std::span<Event> events) override;
  Armed Arm() override;
  void Serve(Mutex& mutex, Deadline deadline) override;

 private:
  absl::Status CheckRank(Rank peer) const;
  bool Reachable(Rank peer) const;
  Event::Result Carry(Rank peer, const Op& op, bool* rang);

  const NodeView node_;
  std::vector<bool> abandoned_;
  std::deque<Rank> connected_;  // For Poll to tell.

  std::unique_ptr<Event[]> ring_;
  uint64_t ring_head_ = 0;  // The next to be read; counts for ever.
  uint64_t ring_tail_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_SHM_SHM_TRANSPORT_H_
