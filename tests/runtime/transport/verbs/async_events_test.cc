// What the transport makes of a device's asynchronous events, under an Engine and its service
// thread: each is heeded by its own object, and what has not failed goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "runtime/base/in_doubt.h"
#include "tests/runtime/transport/verbs/failing_device.h"

namespace weft::testing {
namespace {

using ::testing::HasSubstr;

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

class VerbsLostDevice
    : public VerbsEvents,
      public ::testing::WithParamInterface<std::pair<ibv_event_type, const char*>> {};

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
    ::testing::Values(std::pair(IBV_EVENT_DEVICE_FATAL, "device null0 has failed"),
                      std::pair(IBV_EVENT_CQ_ERR, "a queue of all peers failed"),
                      std::pair(IBV_EVENT_SRQ_ERR, "a queue of all peers failed")),
    [](const auto& info) { return "Event" + std::to_string(info.param.first); });

class VerbsLostPair : public VerbsEvents, public ::testing::WithParamInterface<ibv_event_type> {};

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
                         ::testing::Values(IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR,
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

}  // namespace
}  // namespace weft::testing
