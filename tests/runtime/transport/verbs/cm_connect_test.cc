// How ranks connect by librdmacm when things go wrong: on the machine's own RDMA devices, those
// that RDMA_DEVICES names, in turn (tests/verbs/manifest).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "runtime/engine/service_thread.h"
#include "runtime/transport/verbs/cm_listener.h"
#include "runtime/transport/verbs/cm_message.h"
#include "runtime/transport/verbs/verbs_transport.h"
#include "tests/support/locked_transport.h"
#include "tests/support/test_node.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Refusal = CmMessage::Refusal;

const JobSecret kSecret = {1, 2, 3};

std::string DeviceOf(Rank rank) {
  const char* const devices = std::getenv("RDMA_DEVICES");
  const std::vector<std::string> names =
      absl::StrSplit(devices == nullptr ? "" : devices, ' ', absl::SkipEmpty());
  return names.empty() ? "" : names[rank % names.size()];
}

std::unique_ptr<LockedTransport> Make(const NodeView& node) {
  auto transport = VerbsTransport::Create(
      *VerbsLibrary::Load().value(),
      {.device = DeviceOf(node.rank), .connect = ConnectChoice::kCm, .secret = kSecret}, node);
  EXPECT_TRUE(transport.ok()) << transport.status();
  return transport.ok() ? std::make_unique<LockedTransport>(*std::move(transport)) : nullptr;
}

ServiceThread Serving(LockedTransport& transport) {
  return ServiceThread(transport, transport.mutex());
}

// Polls until `done`; false: it took too long for any machine.
bool Await(const std::function<bool()>& done) {
  const Deadline patience = Deadline::After(absl::Seconds(60));
  while (!done()) {
    if (patience.Expired()) return false;
    usleep(200);
  }
  return true;
}

std::optional<Event> Next(Transport& transport) {
  Event event;
  if (transport.Poll({&event, 1}) == 0) return std::nullopt;
  return event;
}

Event Wait(Transport& transport) {
  std::optional<Event> event;
  EXPECT_TRUE(Await([&] { return (event = Next(transport)).has_value(); }));
  return event.value_or(Event{.token = 0, .peer = 99});
}

class CmConnectTest : public ::testing::Test {
 protected:
  // Two ranks of one job in this process.
  void SetUp() override {
    for (Rank rank : {0, 1}) {
      ranks_[rank] = Make(node_.view(rank));
      ASSERT_NE(ranks_[rank], nullptr);
    }
  }
  absl::Status Connect(Rank from) {
    return ranks_[from]->Connect(1 - from, ranks_[1 - from]->Address());
  }
  void ExpectConnected(Rank rank) {
    const Event event = Wait(*ranks_[rank]);
    EXPECT_EQ(event.kind, Event::Kind::kConnected) << ranks_[rank]->WhyLost(1 - rank);
    EXPECT_EQ(event.peer, 1 - rank);
  }
  // An inline put by each lane that arrives proves that it is connected.
  void ExpectItCarries(Rank from) {
    const Rank to = 1 - from;
    auto slab = ranks_[to]->Register(
        {.kind = Segment::Kind::kSlab, .bytes = {node_.view(to).slab(to), 4096}});
    ASSERT_TRUE(slab.ok());
    const auto region = ranks_[from]->Import(to, (*slab)->key());
    ASSERT_TRUE(region.ok());
    for (Lane lane : {Lane::kSmall, Lane::kBulk}) {
      uint64_t value = ++values_;
      const Op put = {
          .lane = lane, .token = value, .region = &*region, .local = &value, .length = 8};
      ASSERT_TRUE(Await([&] {
        // The bulk lane may be on its way anew,
        if (ranks_[from]->Post(to, {&put, 1}) == 0) {
          Next(*ranks_[from]);
          return false;
        }
        // or about to be cut off by the other side.
        const Event event = Wait(*ranks_[from]);
        EXPECT_EQ(event.token, value);
        if (lane == Lane::kBulk && event.result == Event::Result::kPeerDown) return false;
        EXPECT_EQ(event.result, Event::Result::kOk);
        return true;
      }));
      EXPECT_EQ(memcmp(node_.view(to).slab(to), &value, 8), 0);
    }
  }

  TestNode node_{2, 1 << 20};
  std::unique_ptr<LockedTransport> ranks_[2];
  uint64_t values_ = 0;
};

TEST_F(CmConnectTest, BothSidesAtOnceAgainAndAgain) {
  for (int round = 0; round < 8; ++round) {
    SetUp();
    const ServiceThread first = Serving(*ranks_[0]), second = Serving(*ranks_[1]);
    ASSERT_TRUE(Connect(0).ok());
    ASSERT_TRUE(Connect(1).ok());
    ExpectConnected(0);
    ExpectConnected(1);
    ExpectItCarries(0);
    ExpectItCarries(1);
  }
}

TEST_F(CmConnectTest, OneSideAlone) {
  const ServiceThread other = Serving(*ranks_[1]);
  ASSERT_TRUE(Connect(0).ok());
  ExpectConnected(0);
  ExpectItCarries(0);
  // Who was connected to is.
  ASSERT_TRUE(Connect(1).ok());
  ExpectConnected(1);
  ExpectItCarries(1);
}

TEST_F(CmConnectTest, ARankToItself) {
  const ServiceThread service = Serving(*ranks_[1]);
  ASSERT_TRUE(ranks_[1]->Connect(1, ranks_[1]->Address()).ok());
  EXPECT_EQ(Wait(*ranks_[1]).kind, Event::Kind::kConnected) << ranks_[1]->WhyLost(1);
}

TEST_F(CmConnectTest, ABulkLaneThatBothBreakIsMadeAnew) {
  const ServiceThread first = Serving(*ranks_[0]), second = Serving(*ranks_[1]);
  ASSERT_TRUE(Connect(0).ok());
  ASSERT_TRUE(Connect(1).ok());
  ExpectConnected(0);
  ExpectConnected(1);
  for (int round = 0; round < 8; ++round) {
    if (round % 3 != 1) ranks_[0]->Abandon(1, Lane::kBulk);
    if (round % 3 != 2) ranks_[1]->Abandon(0, Lane::kBulk);
    ExpectItCarries(0);
    ExpectItCarries(1);
  }
}

// Its first request is given up meanwhile: that takes 3 s.
TEST_F(CmConnectTest, ASlowJoiner) {
  ASSERT_TRUE(Connect(0).ok());
  const ServiceThread first = Serving(*ranks_[0]);
  absl::SleepFor(absl::Seconds(4));
  EXPECT_FALSE(Next(*ranks_[0]).has_value());
  const ServiceThread second = Serving(*ranks_[1]);
  ExpectConnected(0);
  ExpectItCarries(0);
}

TEST_F(CmConnectTest, AbandonEndsAPendingConnectAtOnce) {
  for (const absl::Duration pending : {absl::ZeroDuration(), absl::Seconds(1)}) {
    SetUp();
    const ServiceThread service = Serving(*ranks_[0]);
    ASSERT_TRUE(Connect(0).ok());
    absl::SleepFor(pending);
    ranks_[0]->Abandon(1, Lane::kSmall);
    const std::optional<Event> event = Next(*ranks_[0]);
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->kind, Event::Kind::kPeerDown);
    EXPECT_TRUE(absl::IsUnavailable(Connect(0)));
  }
}

// Its request is not taken from then on, either.
TEST_F(CmConnectTest, WhoWasGivenUpIsTold) {
  const ServiceThread first = Serving(*ranks_[0]), second = Serving(*ranks_[1]);
  ranks_[1]->Abandon(0, Lane::kSmall);
  ASSERT_TRUE(Connect(0).ok());
  EXPECT_EQ(Wait(*ranks_[0]).kind, Event::Kind::kPeerDown);
  EXPECT_THAT(ranks_[0]->WhyLost(1), AllOf(HasSubstr("rank 1 at "), HasSubstr("given")));
}

TEST_F(CmConnectTest, AClosedConnectionIsNoticed) {
  const ServiceThread first = Serving(*ranks_[0]);
  {
    const ServiceThread second = Serving(*ranks_[1]);
    ASSERT_TRUE(Connect(0).ok());
    ExpectConnected(0);
  }
  ranks_[1].reset();
  EXPECT_EQ(Wait(*ranks_[0]).kind, Event::Kind::kPeerDown);
  EXPECT_THAT(ranks_[0]->WhyLost(1), HasSubstr("closed"));
}

// --- Strangers -----------------------------------------------------------------------

CmAddress AddressOf(const Transport& transport) {
  return *DecodeVerbsAddress(transport.Address())->cm;
}

// Somebody with a tongue and no queue pair.
class Stranger {
 public:
  static constexpr uint32_t kPair = 77;

  Stranger()
      : library_(*CmLibrary::Load().value()),
        listener_(CmListener::Open(
                      library_,
                      ChoosePort(SurveyPorts(*VerbsLibrary::Load().value()), DeviceOf(1)).value())
                      .value()) {}

  CmListener& listener() { return listener_; }

  // What is said to those bytes: nullopt if that is yes.
  std::optional<CmMessage> Ask(const CmAddress& whom, std::vector<uint8_t> bytes) {
    CmIdHandle id = listener_.Depart(whom, nullptr).value();
    Wait(RDMA_CM_EVENT_ADDR_RESOLVED);
    library_.resolve_route(id.get(), 2000);
    Wait(RDMA_CM_EVENT_ROUTE_RESOLVED);
    rdma_conn_param parameters = {};
    parameters.private_data = bytes.data();
    parameters.private_data_len = static_cast<uint8_t>(bytes.size());
    parameters.qp_num = kPair;
    EXPECT_EQ(library_.connect(id.get(), &parameters), 0);
    const auto [what, said] = Take();
    if (what == RDMA_CM_EVENT_CONNECT_RESPONSE) return std::nullopt;
    EXPECT_EQ(what, RDMA_CM_EVENT_REJECTED);
    bytes.resize(CmMessage::kBytes);  // As they were padded on their way.
    const auto answer = CmMessage::Open(said, kSecret, CmMessage::ProofOf(bytes));
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : CmMessage();
  }

  // The next request is refused with what `answer` makes of it.
  void RefuseOne(const std::function<CmMessage::Bytes(std::span<const uint8_t>)>& answer) {
    rdma_cm_event* event = Next();
    ASSERT_NE(event, nullptr);
    ASSERT_EQ(event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
    const CmIdHandle id(event->id, library_.destroy_id);
    const auto* const data = static_cast<const uint8_t*>(event->param.conn.private_data);
    const CmMessage::Bytes bytes = answer({data, event->param.conn.private_data_len});
    library_.ack_cm_event(event);
    EXPECT_EQ(library_.reject(id.get(), bytes.data(), static_cast<uint8_t>(bytes.size())), 0);
  }

 private:
  rdma_cm_event* Next() {
    rdma_cm_event* event = nullptr;
    EXPECT_TRUE(Await([&] { return library_.get_cm_event(listener_.channel(), &event) == 0; }));
    return event;
  }
  std::pair<rdma_cm_event_type, std::vector<uint8_t>> Take() {
    rdma_cm_event* const event = Next();
    if (event == nullptr) return {RDMA_CM_EVENT_TIMEWAIT_EXIT, {}};
    const auto* const data = static_cast<const uint8_t*>(event->param.conn.private_data);
    std::pair<rdma_cm_event_type, std::vector<uint8_t>> taken = {event->event, {}};
    if (data != nullptr) taken.second.assign(data, data + event->param.conn.private_data_len);
    library_.ack_cm_event(event);
    return taken;
  }
  void Wait(rdma_cm_event_type wanted) { EXPECT_EQ(Take().first, wanted); }

  const CmLibrary& library_;
  CmListener listener_;
};

TEST_F(CmConnectTest, StrangersAndCopiesAreRefused) {
  const ServiceThread first = Serving(*ranks_[0]), second = Serving(*ranks_[1]);
  const CmAddress target = AddressOf(*ranks_[0]);
  Stranger stranger;
  const auto refused = [&](const auto& bytes, Refusal reason) {
    const std::optional<CmMessage> answer = stranger.Ask(target, {bytes.begin(), bytes.end()});
    ASSERT_TRUE(answer.has_value()) << "accepted";
    EXPECT_EQ(answer->refusal, reason);
  };
  const CmMessage good = {.kind = CmMessage::Kind::kRequest,
                          .from = 1,
                          .to = 0,
                          .number = 1,
                          .pair = Stranger::kPair,
                          .credit_address = 4096};
  refused(std::string("GET / HTTP/1.0"), Refusal::kProof);
  CmMessage::Bytes bytes = good.Seal({9}, target.nonce);
  refused(bytes, Refusal::kProof);  // Of another job.
  bytes = good.Seal(kSecret, AddressOf(*ranks_[1]).nonce);
  refused(bytes, Refusal::kProof);  // Overheard where it was meant for another.
  bytes = good.Seal(kSecret, target.nonce);
  refused(std::string(bytes.begin(), bytes.end() - 1), Refusal::kProof);  // Truncated.
  bytes[4] ^= 3;
  refused(bytes, Refusal::kVersion);
  const std::function<void(CmMessage&)> spoil[] = {
      [](CmMessage& bad) { bad.to = 1; },
      [](CmMessage& bad) { bad.from = 2; },  // Of two ranks.
      [](CmMessage& bad) { bad.pair = 5; },  // Not the one that asks.
      [](CmMessage& bad) { bad.kind = CmMessage::Kind::kReply; },
      [](CmMessage& bad) { bad.epoch = 1; },
  };
  for (const auto& how : spoil) {
    CmMessage bad = good;
    how(bad);
    refused(bad.Seal(kSecret, target.nonce), Refusal::kProof);
  }
  CmMessage zero = good;
  zero.number = 0;
  refused(zero.Seal(kSecret, target.nonce), Refusal::kStale);

  // Nothing of it stands in a real rank's way.
  ASSERT_TRUE(Connect(1).ok());
  ExpectConnected(1);
  ExpectItCarries(1);
  refused(good.Seal(kSecret, target.nonce), Refusal::kStale);  // A copy.
  ExpectItCarries(1);
}

// Case 26: whoever is of another version is told so, with both.
TEST_F(CmConnectTest, AnotherVersionIsNamedInTheError) {
  const ServiceThread service = Serving(*ranks_[0]);
  Stranger stranger;
  VerbsAddress address = *DecodeVerbsAddress(ranks_[1]->Address());
  address.cm = stranger.listener().address();
  ASSERT_TRUE(ranks_[0]->Connect(1, EncodeVerbsAddress(address)).ok());
  stranger.RefuseOne([](std::span<const uint8_t> request) {
    const CmMessage refusal = {
        .kind = CmMessage::Kind::kRefusal, .refusal = Refusal::kVersion, .from = 1, .to = 0};
    CmMessage::Bytes bytes = refusal.Seal(kSecret, CmMessage::ProofOf(request));
    bytes[4] = kCmVersion + 1;
    return bytes;
  });
  EXPECT_TRUE(Await([&] { return !ranks_[0]->WhyLost(1).empty(); }));
  EXPECT_THAT(ranks_[0]->WhyLost(1), AllOf(HasSubstr("version " + std::to_string(kCmVersion + 1)),
                                           HasSubstr("version " + std::to_string(kCmVersion))));
}

// --- A process that dies --------------------------------------------------------------

// What the victim's process runs: it tells where it listens, and never answers.
TEST(CmVictim, DISABLED_Listens) {
  const char* const pipe = std::getenv("CM_VICTIM_PIPE");
  ASSERT_NE(pipe, nullptr) << "this is the other process of the test below";
  TestNode node(2, 1 << 20);
  const auto transport = Make(node.view(1));
  ASSERT_NE(transport, nullptr);
  const std::string address = transport->Address();
  ASSERT_EQ(write(std::atoi(pipe), address.data(), address.size()),
            static_cast<ssize_t>(address.size()));
  pause();
}

TEST_F(CmConnectTest, APeerThatIsKilledMeanwhileIsGivenUpAtOnce) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t victim = fork();
  if (victim == 0) {
    setenv("CM_VICTIM_PIPE", std::to_string(ends[1]).c_str(), 1);
    unsetenv("XML_OUTPUT_FILE");
    unsetenv("TEST_PREMATURE_EXIT_FILE");
    execl("/proc/self/exe", "victim", "--gtest_filter=CmVictim.*",
          "--gtest_also_run_disabled_tests", nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string address(4096, '\0');
  const ssize_t length = read(ends[0], address.data(), address.size());
  ASSERT_GT(length, 0);
  address.resize(static_cast<size_t>(length));

  const ServiceThread service = Serving(*ranks_[0]);
  ASSERT_TRUE(ranks_[0]->Connect(1, address).ok());
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_FALSE(Next(*ranks_[0]).has_value()) << "nobody has answered yet";
  kill(victim, SIGKILL);
  waitpid(victim, nullptr, 0);
  absl::SleepFor(absl::Milliseconds(500));  // Refused by its host from now on.
  EXPECT_FALSE(Next(*ranks_[0]).has_value()) << "another process might come to listen there";
  ranks_[0]->Abandon(1, Lane::kSmall);  // What the membership's word leads to.
  const std::optional<Event> event = Next(*ranks_[0]);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->kind, Event::Kind::kPeerDown);
  close(ends[0]);
}

}  // namespace
}  // namespace weft
