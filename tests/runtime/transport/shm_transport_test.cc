// What is the shm transport's own: its keys, its bounded ring of completions,
// and that what it must not touch it does not touch. The operations themselves
// are tested in tests/conformance.
#include "runtime/transport/shm/shm_transport.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "tests/support/test_node.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 64 * 1024;

class ShmTransportTest : public testing::Test {
 protected:
  std::string SlabKey(ShmTransport& owner, Rank rank) {
    NodeView view = node_.view(rank);
    auto registration =
        owner.Register({.kind = Segment::Kind::kSlab, .bytes = {view.slab(rank), view.slab_bytes}});
    return (*registration)->key();
  }
  std::byte* slab(Rank rank) { return node_.view(0).slab(rank); }

  Event::Result Do(Op op, Rank peer = 1) {
    op.token = 7;
    EXPECT_EQ(one_.Post(peer, {&op, 1}), 1u);
    Event event;
    EXPECT_EQ(one_.Poll({&event, 1}), 1u);
    EXPECT_EQ(event.token, 7u);
    EXPECT_EQ(event.peer, peer);
    return event.result;
  }

  TestNode node_{2, kSlabBytes};
  ShmTransport one_{node_.view(0)};
  ShmTransport other_{node_.view(1)};
};

TEST_F(ShmTransportTest, ConnectYieldsConnectedOncePerCall) {
  ASSERT_TRUE(one_.Connect(1, other_.Address()).ok());
  ASSERT_TRUE(one_.Connect(1, other_.Address()).ok());
  EXPECT_TRUE(one_.Arm().ready);
  Event events[4];
  ASSERT_EQ(one_.Poll(events), 2u);
  EXPECT_EQ(events[0].kind, Event::Kind::kConnected);
  EXPECT_EQ(events[1].peer, 1u);
  EXPECT_FALSE(one_.Arm().ready);
}

TEST_F(ShmTransportTest, RefusesMalformedAddressesAndKeys) {
  const std::string address = other_.Address();
  const std::string key = SlabKey(other_, 1);
  EXPECT_TRUE(one_.Import(1, key).ok());
  EXPECT_FALSE(one_.Connect(0, address).ok());  // Another rank's.
  EXPECT_FALSE(one_.Connect(2, address).ok());  // No such rank.
  EXPECT_FALSE(one_.Connect(1, key).ok());
  EXPECT_FALSE(one_.Import(1, address).ok());
  EXPECT_FALSE(one_.Import(0, key).ok());
  EXPECT_FALSE(one_.Import(UINT32_MAX, key).ok());
  for (size_t length = 0; length < key.size(); ++length) {
    EXPECT_FALSE(one_.Import(1, key.substr(0, length)).ok());
    EXPECT_FALSE(one_.Connect(1, address.substr(0, length)).ok());
  }
  EXPECT_FALSE(one_.Import(1, key + '\0').ok());
}

// Whatever the bytes, nothing but the two true regions comes out.
TEST_F(ShmTransportTest, DecodesMutatedKeysDefensively) {
  std::mt19937_64 random(2);
  const std::string key = SlabKey(other_, 1);
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes = key;
    for (int n = random() % 3; n >= 0; --n) bytes[random() % bytes.size()] ^= random();
    const auto region = one_.Import(1, bytes);
    if (!region.ok()) continue;
    const NodeView view = node_.view(0);
    const bool is_slab = region->mapped == view.slab(1) && region->length == kSlabBytes;
    const bool is_control = region->mapped == reinterpret_cast<std::byte*>(&view.control(1)) &&
                            region->length == kControlBytes;
    ASSERT_TRUE(is_slab || is_control);
  }
}

TEST_F(ShmTransportTest, RegistersOnlyItsOwnSegments) {
  const NodeView view = node_.view(0);
  EXPECT_FALSE(
      one_.Register({.kind = Segment::Kind::kSlab, .bytes = {view.slab(1), kSlabBytes}}).ok());
  EXPECT_FALSE(
      one_.Register({.kind = Segment::Kind::kSlab, .bytes = {view.slab(0), kSlabBytes / 2}}).ok());
  EXPECT_TRUE(
      one_.Register({.kind = Segment::Kind::kControl,
                     .bytes = {reinterpret_cast<std::byte*>(&view.control(0)), kControlBytes}})
          .ok());
}

TEST_F(ShmTransportTest, AFullRingShortensThePostAndPollMakesRoom) {
  const RemoteRegion region = *one_.Import(1, SlabKey(other_, 1));
  std::vector<Op> ops(ShmTransport::kMaxEvents + 10, Op{.region = &region, .length = 0});
  for (size_t i = 0; i < ops.size(); ++i) ops[i].token = i + 1;
  EXPECT_EQ(one_.Post(1, ops), ShmTransport::kMaxEvents);
  EXPECT_EQ(one_.Post(1, {&ops.back(), 1}), 0u);
  Op silent = {.region = &region};
  EXPECT_EQ(one_.Post(1, {&silent, 1}), 1u);  // Needs no room.
  Event events[10];
  ASSERT_EQ(one_.Poll(events), 10u);
  EXPECT_EQ(events[9].token, 10u);
  EXPECT_EQ(one_.Post(1, std::span(ops).last(10)), 10u);
}

TEST_F(ShmTransportTest, BadAddressesMoveNothing) {
  const RemoteRegion region = *one_.Import(1, SlabKey(other_, 1));
  std::byte local[16] = {};
  std::memset(local, 0xff, sizeof(local));
  const auto bad_put = [&](auto change) {
    Op op = {.region = &region, .local = local, .length = 8};
    change(op);
    return op;
  };
  using Kind = Op::Kind;
  const Op bad[] = {
      bad_put([](Op& op) { op.offset = UINT64_MAX - 15, op.length = 32; }),
      bad_put([](Op& op) { op.offset = kSlabBytes - 8, op.length = 16; }),
      bad_put([](Op& op) { op.length = UINT64_MAX; }),
      bad_put([](Op& op) { op.offset = kSlabBytes + 1, op.length = 0; }),
      bad_put([](Op& op) { op.ride = Ride::kCounter, op.operand = kMaxCounters; }),
      bad_put([](Op& op) { op.ride = Ride::kSetSignal, op.compare = kSlabBytes; }),
      bad_put([](Op& op) { op.ride = Ride::kAddSignal, op.compare = 4; }),
      bad_put([](Op& op) { op.ride = Ride::kAddSignal, op.compare = UINT64_MAX - 7; }),
      bad_put([](Op& op) { op.kind = Kind::kFetchAdd, op.offset = 4; }),
      bad_put([](Op& op) { op.kind = Kind::kSet, op.offset = 2, op.length = 4; }),
      bad_put([](Op& op) { op.kind = Kind::kSwap, op.length = 2; }),
      bad_put([](Op& op) { op.kind = Kind::kSwap, op.length = 0; }),
      bad_put([](Op& op) { op.kind = Kind::kFetch, op.offset = kSlabBytes; }),
      bad_put([](Op& op) { op.kind = Kind::kGet, op.offset = kSlabBytes - 1, op.length = 2; }),
  };
  for (const Op& op : bad) EXPECT_EQ(Do(op), Event::Result::kBadAddress) << &op - bad;
  for (uint64_t i = 0; i < kSlabBytes; ++i) ASSERT_EQ(slab(1)[i], std::byte{0});
  for (std::byte b : local) EXPECT_EQ(b, std::byte{0xff});
}

TEST_F(ShmTransportTest, TheDeadAndTheAbandonedAreNotTouched) {
  const RemoteRegion region = *one_.Import(1, SlabKey(other_, 1));
  uint64_t value = 5;
  const Op put = {.region = &region, .local = &value, .length = 8};
  node_.authority().MarkLeft(1);
  EXPECT_EQ(Do(put), Event::Result::kOk);  // Whoever left stays reachable.
  value = 6;
  one_.Abandon(1, Lane::kBulk);
  EXPECT_EQ(Do(put), Event::Result::kOk);
  value = 7;
  one_.Abandon(1, Lane::kSmall);
  EXPECT_EQ(Do(put), Event::Result::kPeerDown);
  EXPECT_FALSE(one_.Connect(1, other_.Address()).ok());
  std::memcpy(&value, slab(1), 8);
  EXPECT_EQ(value, 6u);

  const RemoteRegion own = *other_.Import(0, SlabKey(one_, 0));
  const Op back = {.token = 1, .region = &own, .local = &value, .length = 8};
  node_.authority().MarkDead(0, 9);
  EXPECT_EQ(other_.Post(0, {&back, 1}), 1u);
  Event event;
  EXPECT_EQ(other_.Poll({&event, 1}), 1u);
  EXPECT_EQ(event.result, Event::Result::kPeerDown);
  EXPECT_EQ(slab(0)[0], std::byte{0});
}

TEST_F(ShmTransportTest, APeerOutOfTheJobIsAnErrorAndNoAccess) {
  const RemoteRegion region = *one_.Import(1, SlabKey(other_, 1));
  EXPECT_EQ(Do({.ride = Ride::kCounter, .region = &region}, 99), Event::Result::kPeerDown);
}

}  // namespace
}  // namespace weft
