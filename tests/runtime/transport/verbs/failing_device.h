// Ranks over a device that fails on demand (tests/support/null_verbs.h): rank 0's transport is
// under test, connected to those of the others. One thread, but for what a test starts.
#ifndef WEFT_TESTS_RUNTIME_TRANSPORT_VERBS_FAILING_DEVICE_H_
#define WEFT_TESTS_RUNTIME_TRANSPORT_VERBS_FAILING_DEVICE_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/transport/verbs/verbs_transport.h"
#include "tests/support/null_verbs.h"
#include "tests/support/test_node.h"

namespace weft::testing {

inline constexpr Rank kSize = 3;
inline constexpr uint64_t kSlabBytes = 4 << 20;

inline Deadline Soon() { return Deadline::After(absl::Seconds(60)); }

inline VerbsOptions Options() {
  VerbsOptions options;
  options.device = "null0:1";
  return options;
}

// A rank's transport and what it publishes. All ranks use the one device.
struct Member {
  std::unique_ptr<VerbsTransport> transport;
  std::unique_ptr<Registration> slab, control;
  PeerCard card;
};

class VerbsFailure : public ::testing::Test {
 protected:
  Member Make(Rank rank) {
    const NodeView view = node_.view(rank);
    auto transport = VerbsTransport::Create(verbs_.library(), Options(), view);
    EXPECT_TRUE(transport.ok()) << transport.status();
    Member member = {.transport = *std::move(transport), .slab = {}, .control = {}, .card = {}};
    member.slab =
        *member.transport->Register({Segment::Kind::kSlab, {view.slab(rank), kSlabBytes}});
    member.control =
        *member.transport->Register({Segment::Kind::kControl, {view.control_base, kControlBytes}});
    member.card = {.address = member.transport->Address(),
                   .slab_key = member.slab->key(),
                   .control_key = member.control->key()};
    return member;
  }
  // Rank 0 last: its queues are those that the device adds completions to.
  void MakeAll() {
    for (Rank rank = kSize; rank-- > 0;) members_[rank] = Make(rank);
  }
  VerbsTransport& transport() { return *members_[0].transport; }

  // Connects rank 0 to all.
  void Connect() {
    for (Rank peer = 0; peer < kSize; ++peer) {
      ASSERT_TRUE(transport().Connect(peer, members_[peer].card.address).ok());
      slabs_[peer] = *transport().Import(peer, members_[peer].card.slab_key);
    }
  }
  std::vector<Event> Poll() {
    std::vector<Event> all;
    Event events[64];
    while (const size_t count = transport().Poll(events)) {
      for (const Event& event : std::span(events, count)) {
        if (event.kind != Event::Kind::kConnected) all.push_back(event);
      }
    }
    return all;
  }
  Op Put(Rank peer, uint64_t token, uint64_t length = 8) {
    return {.lane = length > kMaxStagedBytes ? Lane::kBulk : Lane::kSmall,
            .token = token,
            .region = &slabs_[peer],
            .local = node_.view(0).slab(0),
            .length = length};
  }
  // What the peer tells by an empty WRITE with immediate, on the small lane.
  void Arrive(Rank peer, const Message& message) {
    ibv_wc completion = {};
    completion.qp_num = SmallPair(peer);
    completion.wc_flags = IBV_WC_WITH_IMM;
    completion.imm_data = htonl(message.AsImmediate());
    verbs_.AddCompletion(true, completion);
  }
  // The number of rank 0's queue pair to `peer`.
  uint32_t SmallPair(Rank peer) {
    return DecodeVerbsAddress(members_[0].card.address)->pairs[peer].small.number;
  }

  NullVerbs verbs_;
  TestNode node_{kSize, kSlabBytes};
  Member members_[kSize];
  RemoteRegion slabs_[kSize];
};

}  // namespace weft::testing
#endif  // WEFT_TESTS_RUNTIME_TRANSPORT_VERBS_FAILING_DEVICE_H_
