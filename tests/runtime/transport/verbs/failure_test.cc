// What the transport makes of a device, a queue or a request that fails, over a device that
// fails on demand (tests/support/null_verbs.h): every operation ends exactly once, with the
// right status, and what has not failed goes on.
#include <arpa/inet.h>
#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "runtime/base/in_doubt.h"
#include "runtime/engine/engine.h"
#include "runtime/transport/verbs/verbs_transport.h"
#include "tests/support/null_verbs.h"
#include "tests/support/test_node.h"

namespace weft {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr Rank kSize = 3;
constexpr uint64_t kSlabBytes = 4 << 20;

Deadline Soon() { return Deadline::After(absl::Seconds(60)); }

VerbsOptions Options() {
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

class VerbsFailure : public testing::Test {
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

// --- Asynchronous events, under an Engine and its service thread. ---

class VerbsEvents : public VerbsFailure {
 protected:
  static constexpr int kOperations = 1000;

  VerbsEvents() {
    MakeAll();
    engine_ = std::make_unique<Engine>(
        std::move(members_[0].transport), node_.view(0),
        [this](Rank peer) -> absl::StatusOr<PeerCard> { return members_[peer].card; },
        std::vector<Engine::RegisteredMemory>{{.bytes = {node_.view(0).slab(0), kSlabBytes},
                                               .local_key = members_[0].slab->local_key()}});
    EXPECT_TRUE(engine_->ConnectAll(Soon()).ok());
  }

  absl::StatusOr<Engine::Handle> Start(Rank peer, int i) {
    Engine::Request request = {.peer = peer, .source = node_.view(0).slab(0), .length = 8};
    switch (i % 4) {
      case 0:
        break;
      case 1:
        request.length = 100'000;
        break;
      case 2:
        request.kind = Op::Kind::kGet;
        request.destination = results_;
        break;
      default:
        request.kind = Op::Kind::kFetchAdd;
        request.destination = results_;
    }
    return engine_->Start(request, Soon());
  }
  bool LedgerIsEmpty() { return (engine_->unsettled() & 0x7fffffff) == 0; }

  std::unique_ptr<Engine> engine_;
  uint64_t results_[2] = {};
};

class VerbsLostDevice : public VerbsEvents,
                        public testing::WithParamInterface<std::pair<ibv_event_type, const char*>> {
};

// Case 11: no completion tells of these.
TEST_P(VerbsLostDevice, EndsAllThatIsUnderWay) {
  std::vector<Engine::Handle> handles;
  for (int i = 0; i < kOperations; ++i) {
    const auto handle = Start(static_cast<Rank>(i) % kSize, i / 3);
    ASSERT_TRUE(handle.ok()) << handle.status();
    handles.push_back(*handle);
  }
  // Some wait when it happens, one of them for posted operations.
  std::vector<absl::Status> told(4);
  std::vector<std::thread> threads;
  for (Rank i = 0; i < 3; ++i) {
    threads.emplace_back(
        [&, i, handle = *Start(i, 0)] { told[i] = engine_->Finish(handle, Deadline()); });
  }
  threads.emplace_back([&] {
    engine_->Post({.peer = 1, .source = results_, .length = 8}, Soon());
    told[3] = engine_->Flush(1, Deadline());
  });
  const absl::Time raised = absl::Now();
  verbs_.Raise(GetParam().first);
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < handles.size(); ++i) {
    const absl::Status status = engine_->Finish(handles[i], Soon());
    ASSERT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    ASSERT_THAT(std::string(status.message()), HasSubstr("rank " + std::to_string(i % kSize)));
    ASSERT_THAT(std::string(status.message()), HasSubstr(GetParam().second));
  }
  RecordProperty("milliseconds", absl::ToInt64Milliseconds(absl::Now() - raised));
  for (const absl::Status& status : told) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  }
  EXPECT_EQ(engine_->FlushAll(Soon()).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(LedgerIsEmpty());
  EXPECT_TRUE(verbs_.posted().empty()) << "the device may touch memory yet";
  // It is for good.
  const auto after = Start(2, 0);
  EXPECT_EQ(after.status().code(), absl::StatusCode::kUnavailable) << after.status();
}

INSTANTIATE_TEST_SUITE_P(
    All, VerbsLostDevice,
    testing::Values(std::pair(IBV_EVENT_DEVICE_FATAL, "device null0 has failed"),
                    std::pair(IBV_EVENT_CQ_ERR, "a queue of all peers failed"),
                    std::pair(IBV_EVENT_SRQ_ERR, "a queue of all peers failed")),
    [](const auto& info) { return "Event" + std::to_string(info.param.first); });

class VerbsLostPair : public VerbsEvents, public testing::WithParamInterface<ibv_event_type> {};

TEST_P(VerbsLostPair, OfTheSmallLaneEndsThatPeerAlone) {
  const auto lost = Start(1, 0);
  std::vector<Engine::Handle> others;
  for (int i = 0; i < 100; ++i) others.push_back(*Start(2, i));
  verbs_.Raise(GetParam());  // Of the pair that has the first.
  const absl::Status status = engine_->Finish(*lost, Soon());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the queue pair to it failed"));
  EXPECT_TRUE(IsInDoubt(status));
  for (const Engine::Handle& handle : others) EXPECT_FALSE(engine_->Done(handle));
  verbs_.EndAll(IBV_WC_SUCCESS);
  for (const Engine::Handle& handle : others) {
    const absl::Status ended = engine_->Finish(handle, Soon());
    EXPECT_TRUE(ended.ok()) << ended;
  }
  EXPECT_TRUE(LedgerIsEmpty());
}

TEST_P(VerbsLostPair, OfTheBulkLaneEndsThatLaneAlone) {
  const auto lost = Start(1, 1);
  const auto small = Start(1, 0);
  verbs_.Raise(GetParam());
  const absl::Status status = engine_->Finish(*lost, Soon());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("bulk lane to rank 1 broke"));
  EXPECT_FALSE(engine_->Done(*small));
  verbs_.EndAll(IBV_WC_SUCCESS);
  EXPECT_TRUE(engine_->Finish(*small, Soon()).ok());
}

INSTANTIATE_TEST_SUITE_P(All, VerbsLostPair,
                         testing::Values(IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR,
                                         IBV_EVENT_QP_ACCESS_ERR),
                         [](const auto& info) { return "Event" + std::to_string(info.param); });

// Cases 9 and 10: of a port, ours or another, and of what is no failure.
TEST_F(VerbsEvents, ThatFailNothingChangeNothing) {
  std::vector<Engine::Handle> handles;
  for (int i = 0; i < 100; ++i) handles.push_back(*Start(static_cast<Rank>(i) % kSize, i));
  for (int port : {1, 2}) {
    for (ibv_event_type type :
         {IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE, IBV_EVENT_GID_CHANGE, IBV_EVENT_LID_CHANGE,
          IBV_EVENT_PKEY_CHANGE, IBV_EVENT_SM_CHANGE, IBV_EVENT_CLIENT_REREGISTER}) {
      verbs_.Raise(type, port);
    }
  }
  verbs_.Raise(IBV_EVENT_COMM_EST);  // Of a pair.
  verbs_.WaitUntilTaken();
  for (const Engine::Handle& handle : handles) ASSERT_FALSE(engine_->Done(handle));
  verbs_.EndAll(IBV_WC_SUCCESS);
  for (const Engine::Handle& handle : handles) {
    const absl::Status status = engine_->Finish(handle, Soon());
    ASSERT_TRUE(status.ok()) << status;
  }
}

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
}  // namespace weft
