#include "tests/runtime/sync/engine_node.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "runtime/transport/shm/shm_transport.h"

namespace weft {

EngineNode::EngineNode(Rank size) : node_(size) {
  for (Rank r = 0; r < size; ++r) {
    const NodeView view = node_.view(r);
    auto transport = std::make_unique<ShmTransport>(view);
    const auto key = [&](Segment::Kind kind, std::byte* base, size_t bytes) {
      auto registered = transport->Register({.kind = kind, .bytes = {base, bytes}});
      EXPECT_TRUE(registered.ok()) << registered.status();
      if (!registered.ok()) return std::string();
      registrations_.push_back(*std::move(registered));
      return registrations_.back()->key();
    };
    cards_.push_back({.address = transport->Address(),
                      .slab_key = key(Segment::Kind::kSlab, view.slab(r), view.slab_bytes),
                      .control_key = key(Segment::Kind::kControl,
                                         view.control_base + r * kControlBytes, kControlBytes)});
    engines_.push_back(std::make_unique<Engine>(
        std::move(transport), view,
        [this](Rank peer) -> absl::StatusOr<PeerCard> { return cards_[peer]; }));
  }
}

}  // namespace weft
