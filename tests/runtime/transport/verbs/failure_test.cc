// What the transport makes of requests, connections and registrations that fail: every operation
// ends exactly once, with the right status, and what has not failed goes on. async_events_test.cc
// has what fails without a completion.
#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/transport/verbs/failing_device.h"

namespace weft::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// --- Requests that fail. ---

// Case 12: after an error among them, the rest of a batch of completions is lost.
TEST_F(VerbsFailure, EveryTokenOfABatchWithErrorsComesBackOnce) {
  MakeAll();
  Connect();
  constexpr uint64_t kRounds = 10'000;
  std::set<uint64_t> seen;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const Op ops[] = {Put(1, 2 * round + 1), Put(2, 2 * round + 2)};
    ASSERT_EQ(transport().Post(1, {&ops[0], 1}), 1u);
    ASSERT_EQ(transport().Post(2, {&ops[1], 1}), 1u);
    ibv_wc error = {};
    error.status = round % 2 == 0 ? IBV_WC_WR_FLUSH_ERR : IBV_WC_LOC_PROT_ERR;
    error.qp_num = SmallPair(1 + round % 2);
    verbs_.AddCompletion(true, error);
    verbs_.EndAll(IBV_WC_SUCCESS);
    for (const Event& event : Poll()) {
      ASSERT_EQ(event.result, Event::Result::kOk);
      ASSERT_TRUE(seen.insert(event.token).second);
    }
  }
  EXPECT_EQ(seen.size(), 2 * kRounds);
}

// Of a chain, what is before the refused request may have been carried out: in doubt.
TEST_F(VerbsFailure, EveryTokenOfARefusedChainComesBackOnce) {
  constexpr int kChain = 8;
  for (int refused = 0; refused < kChain; ++refused) {
    MakeAll();
    Connect();
    std::vector<Op> ops;
    for (uint64_t i = 0; i < kChain; ++i) ops.push_back(Put(1, i + 1));
    const Op other = Put(2, 100);
    ASSERT_EQ(transport().Post(2, {&other, 1}), 1u);
    verbs_.SetFaults({.refuse_request = refused});
    ASSERT_EQ(transport().Post(1, ops), ops.size());
    std::map<uint64_t, Event::Result> results;
    bool down = false;
    for (const Event& event : Poll()) {
      if (event.kind == Event::Kind::kPeerDown) {
        EXPECT_EQ(event.peer, 1u);
        down = true;
      } else {
        EXPECT_TRUE(results.emplace(event.token, event.result).second) << event.token;
      }
    }
    EXPECT_TRUE(down);
    EXPECT_EQ(results.size(), ops.size());
    for (const auto& [token, result] : results) EXPECT_EQ(result, Event::Result::kPeerDown);
    EXPECT_THAT(transport().WhyLost(1), HasSubstr("null0:1 refused a request"));
    verbs_.EndAll(IBV_WC_SUCCESS);
    const std::vector<Event> rest = Poll();
    ASSERT_EQ(rest.size(), 1u);
    EXPECT_EQ(rest[0].token, 100u);
    EXPECT_EQ(rest[0].result, Event::Result::kOk);
  }
}

TEST_F(VerbsFailure, SilenceOnTheBulkLaneLosesThePeerOnce) {
  MakeAll();
  Connect();
  const Op small = Put(1, 1), bulk = Put(1, 2, 100'000), after = Put(1, 3, 100'000);
  ASSERT_EQ(transport().Post(1, {&small, 1}), 1u);
  verbs_.EndAll(IBV_WC_SUCCESS);
  ASSERT_EQ(Poll().size(), 1u);
  ASSERT_EQ(transport().Post(1, {&bulk, 1}), 1u);
  verbs_.EndAll(IBV_WC_RETRY_EXC_ERR);
  std::vector<Event> events = Poll();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].result, Event::Result::kPeerDown);
  EXPECT_EQ(events[1].kind, Event::Kind::kPeerDown);
  // Small messages have passed, large ones never: a path that drops full packets looks so.
  EXPECT_THAT(transport().WhyLost(1), HasSubstr("full packets, which carry 1024 bytes"));
  ASSERT_EQ(transport().Post(1, {&after, 1}), 1u);
  events = Poll();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].result, Event::Result::kPeerDown);
}

// A peer that dies takes its memory along before anybody knows of its death.
TEST_F(VerbsFailure, AnAccessThatIsDeniedOnTheBulkLaneLosesThePeer) {
  MakeAll();
  Connect();
  const Op bulk = Put(1, 1, 100'000);
  ASSERT_EQ(transport().Post(1, {&bulk, 1}), 1u);
  verbs_.EndAll(IBV_WC_REM_ACCESS_ERR);
  const std::vector<Event> events = Poll();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].result, Event::Result::kPeerDown);
  EXPECT_EQ(events[1].kind, Event::Kind::kPeerDown);
  EXPECT_THAT(transport().WhyLost(1), HasSubstr("its process has ended"));
}

TEST_F(VerbsFailure, SilenceAfterLargeTransfersBlamesNoMtu) {
  MakeAll();
  Connect();
  const Op bulk = Put(1, 2, 100'000), small = Put(1, 3);
  ASSERT_EQ(transport().Post(1, {&bulk, 1}), 1u);
  verbs_.EndAll(IBV_WC_SUCCESS);
  ASSERT_EQ(transport().Post(1, {&small, 1}), 1u);
  verbs_.EndAll(IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(Poll().size(), 3u);
  EXPECT_THAT(transport().WhyLost(1), EndsWith("the link to it is gone"));
  EXPECT_EQ(transport().WhyLost(2), "");
}

// --- Connecting. ---

// Case 9: addresses that come and go move ours in the port's table.
TEST_F(VerbsFailure, EachNewQueuePairLooksTheGidUpAgain) {
  MakeAll();
  Connect();
  EXPECT_EQ(verbs_.connected().back().ah_attr.grh.sgid_index, 1);
  verbs_.SetGids({NullVerbs::Ipv4Gid(9, 1), NullVerbs::Ipv4Gid(1, 5)});
  const size_t before = verbs_.connected().size();
  Arrive(1, {.kind = Message::Kind::kAskBulk, .number = 77});
  EXPECT_TRUE(Poll().empty());
  ASSERT_EQ(verbs_.connected().size(), before + 1);
  EXPECT_EQ(verbs_.connected().back().ah_attr.grh.sgid_index, 5);
  EXPECT_EQ(verbs_.connected().back().dest_qp_num, 77u);
}

TEST_F(VerbsFailure, AnAddressThatIsGoneIsNamed) {
  MakeAll();
  verbs_.SetGids({NullVerbs::Ipv4Gid(9, 1)});
  const absl::Status status = transport().Connect(1, members_[1].card.address);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("to rank 1: "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("lost the address ::ffff:10.77.0.1"));
}

TEST_F(VerbsFailure, APathThatTheDeviceRefusesIsNamed) {
  MakeAll();
  verbs_.SetFaults({.fail_modify = ENETUNREACH});
  const absl::Status status = transport().Connect(1, members_[1].card.address);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("to rank 1: "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("from ::ffff:10.77.0.1"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("unreachable"));
}

TEST_F(VerbsFailure, TheSmallerMtuOfBothEndsIsUsed) {
  verbs_.SetMtu(IBV_MTU_4096);
  members_[2] = Make(2);
  verbs_.SetMtu(IBV_MTU_512);
  members_[1] = Make(1);
  verbs_.SetMtu(IBV_MTU_1024);
  members_[0] = Make(0);
  const std::map<Rank, ibv_mtu> expected = {{0, IBV_MTU_1024}, {1, IBV_MTU_512}, {2, IBV_MTU_1024}};
  for (const auto& [peer, mtu] : expected) {
    ASSERT_TRUE(transport().Connect(peer, members_[peer].card.address).ok());
    EXPECT_EQ(verbs_.connected().back().path_mtu, mtu);
  }
}

// --- Memory. ---

TEST_F(VerbsFailure, ARegistrationThatFailsNamesTheLimit) {
  MakeAll();
  verbs_.SetFaults({.fail_registration = ENOMEM});
  const auto registration =
      transport().Register({Segment::Kind::kLocal, {node_.view(0).slab(0), kSlabBytes}});
  EXPECT_EQ(registration.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(registration.status().message()), HasSubstr("4096 KiB"));
  EXPECT_THAT(std::string(registration.status().message()), HasSubstr("100000 regions"));
}

// Case 31: lengths that do not fit into 32 bits.
TEST_F(VerbsFailure, NoLengthWraps) {
  MakeAll();
  Connect();
  slabs_[1].length = uint64_t{1} << 40;
  const size_t before = verbs_.requests();
  uint64_t token = 0;
  for (uint64_t length : {(uint64_t{1} << 32) + 8, uint64_t{5} << 30, uint64_t{8} << 30}) {
    const Op op = Put(1, ++token, length);
    ASSERT_EQ(transport().Post(1, {&op, 1}), 1u);
    const std::vector<Event> events = Poll();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].result, Event::Result::kBadAddress) << length;
  }
  EXPECT_EQ(verbs_.requests(), before);
}

TEST_F(VerbsFailure, NothingOfTheDeviceIsLeft) {
  MakeAll();
  Connect();
  const Op op = Put(1, 1);
  ASSERT_EQ(transport().Post(1, {&op, 1}), 1u);
  for (Member& member : members_) member = {};
  EXPECT_EQ(verbs_.alive(), 0);
}

// Case 31 again: the Engine splits them, and the notification goes with the last piece.
TEST(VerbsLargePut, OfFiveGibibytesArrivesWhole) {
  constexpr uint64_t kBytes = (uint64_t{5} << 30) + 24;
  constexpr uint64_t kOffset = 4096;
  NullVerbs verbs;
  TestNode node(1, (uint64_t{5} << 30) + 2 * kOffset);
  const NodeView view = node.view(0);
  const std::span<std::byte> slab(view.slab(0), view.slab_bytes);
  auto transport = VerbsTransport::Create(verbs.library(), Options(), view);
  ASSERT_TRUE(transport.ok()) << transport.status();
  auto registered = (*transport)->Register({Segment::Kind::kSlab, slab});
  auto control =
      (*transport)->Register({Segment::Kind::kControl, {view.control_base, kControlBytes}});
  ASSERT_TRUE(registered.ok() && control.ok());
  const PeerCard card = {.address = (*transport)->Address(),
                         .slab_key = (*registered)->key(),
                         .control_key = (*control)->key()};
  Engine engine(*std::move(transport), view, [&](Rank) -> absl::StatusOr<PeerCard> { return card; },
                {{.bytes = slab, .local_key = (*registered)->local_key()}});
  ASSERT_TRUE(engine.ConnectAll(Soon()).ok());
  verbs.SetFaults({.complete_at_once = true, .note = true});
  ASSERT_TRUE(engine
                  .Run({.ride = Ride::kCounter,
                        .peer = 0,
                        .offset = kOffset,
                        .source = slab.data(),
                        .length = kBytes,
                        .operand = 3},
                       Soon())
                  .ok());
  uint64_t next = reinterpret_cast<uint64_t>(slab.data());
  for (const NullVerbs::Posted& posted : verbs.noted()) {
    EXPECT_EQ(posted.local, next);
    EXPECT_EQ(posted.request.wr.rdma.remote_addr, next + kOffset);
    next += posted.length;
    const bool last = next == reinterpret_cast<uint64_t>(slab.data()) + kBytes;
    EXPECT_EQ(posted.request.opcode, last ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE);
  }
  EXPECT_EQ(next, reinterpret_cast<uint64_t>(slab.data()) + kBytes);
}

}  // namespace
}  // namespace weft::testing
