// How ranks meet over TCP, and who is kept out: case 26, and the threats of docs/security.md.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/transport/tcp/sockets.h"
#include "runtime/transport/tcp/tcp_transport.h"
#include "tests/support/test_node.h"

namespace weft {
namespace {

constexpr JobSecret kSecret = {1, 2, 3};

// Two ranks in one process, polled in turn.
class MeetingTest : public testing::Test {
 protected:
  std::unique_ptr<TcpTransport> Make(Rank rank, const JobSecret& secret = kSecret) {
    auto made = TcpTransport::Create({.secret = secret, .connect_limit = absl::Seconds(2)},
                                     node_.view(rank));
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }
  // Polls all until `done`, or for ten seconds.
  bool Until(std::initializer_list<TcpTransport*> all, const std::function<bool()>& done) {
    const Deadline patience = Deadline::After(absl::Seconds(10));
    while (!done()) {
      if (patience.Expired()) return false;
      for (TcpTransport* transport : all) {
        Event events[16];
        const size_t count = transport->Poll(events);
        events_.insert(events_.end(), events, events + count);
      }
    }
    return true;
  }
  bool Told(Event::Kind kind) {
    return std::ranges::any_of(events_, [&](const Event& e) { return e.kind == kind; });
  }
  static SocketAddress Listening(const TcpTransport& transport) {
    return TcpAddress::Decode(transport.Address()).value().listening[0];
  }
  // A stranger's connection; blocking.
  static UniqueFd Dial(const TcpTransport& transport) {
    sockaddr_storage storage;
    const socklen_t length = Listening(transport).To(storage);
    UniqueFd fd(socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
    return fd;
  }
  // What comes back for `said`, polling `transport`; ends when it hangs up or falls silent.
  std::string Exchange(TcpTransport& transport, int socket, std::string_view said) {
    send(socket, said.data(), said.size(), MSG_NOSIGNAL);
    std::string answer;
    Until({&transport}, [&] {
      char bytes[256];
      const ssize_t got = recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT);
      if (got > 0) answer.append(bytes, static_cast<size_t>(got));
      return got == 0 || answer.size() >= Challenge::kBytes;
    });
    return answer;
  }
  template <typename Bytes>
  static std::string Text(const Bytes& bytes) {
    return std::string(bytes.begin(), bytes.end());
  }

  TestNode node_{2, 4096};
  std::vector<Event> events_;
};

TEST_F(MeetingTest, WhoKnowsTheSecretMeets) {
  auto a = Make(0), b = Make(1);
  ASSERT_TRUE(a->Connect(1, b->Address()).ok());
  EXPECT_TRUE(Until({a.get(), b.get()}, [&] { return Told(Event::Kind::kConnected); }));
}

TEST_F(MeetingTest, AnotherJobIsNotMet) {
  auto a = Make(0), b = Make(1, {9});
  ASSERT_TRUE(a->Connect(1, b->Address()).ok());
  ASSERT_TRUE(Until({a.get(), b.get()}, [&] { return Told(Event::Kind::kPeerDown); }));
  EXPECT_NE(a->WhyLost(1).find("does not know this job's secret"), std::string::npos)
      << a->WhyLost(1);
}

TEST_F(MeetingTest, WhatDoesNotAnswerIsNamed) {
  auto a = Make(0);
  SocketAddress address = *SocketAddress::From([] {
    static sockaddr_in loopback = {
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    return reinterpret_cast<sockaddr*>(&loopback);
  }());
  const UniqueFd mute = *Listen(address);  // Accepts nobody.
  ASSERT_TRUE(a->Connect(1, TcpAddress{.rank = 1, .listening = {address}}.Encode()).ok());
  ASSERT_TRUE(Until({a.get()}, [&] { return Told(Event::Kind::kPeerDown); }));
  EXPECT_NE(a->WhyLost(1).find(address.ToString()), std::string::npos) << a->WhyLost(1);
}

// Case 27: the first address that the peer publishes is somebody else's here.
TEST_F(MeetingTest, AnAddressThatLeadsElsewhereIsPassedOver) {
  auto a = Make(0), b = Make(1);
  ASSERT_TRUE(
      a->Connect(1, TcpAddress{.rank = 1, .listening = {Listening(*a), Listening(*b)}}.Encode())
          .ok());
  EXPECT_TRUE(Until({a.get(), b.get()}, [&] { return Told(Event::Kind::kConnected); }));
}

TEST_F(MeetingTest, AnotherVersionIsToldWhichThisIs) {
  auto a = Make(0);
  Hello hello = {.from = 1, .to = 0, .number = 1, .nonce = MakeTcpNonce()};
  for (const uint16_t version : {uint16_t{kTcpVersion + 1}, uint16_t{kTcpVersion - 1}}) {
    hello.oldest = hello.newest = version;
    const Hello::Bytes said = hello.Encode();
    const UniqueFd socket = Dial(*a);
    const std::string answer = Exchange(*a, socket.get(), Text(said));
    const auto challenge = Challenge::Open(
        {reinterpret_cast<const uint8_t*>(answer.data()), answer.size()}, kSecret, said);
    ASSERT_TRUE(challenge.ok()) << challenge.status();
    EXPECT_EQ(challenge->refusal, HelloRefusal::kVersion);
    EXPECT_EQ(challenge->version, kTcpVersion);
  }
  const absl::Status refused = Hello::Decode(hello.Encode()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_NE(refused.message().find("version"), absl::string_view::npos);
}

TEST_F(MeetingTest, AHelloThatIsCutOffOrChangedGetsNobodyIn) {
  auto a = Make(0);
  const Hello::Bytes good =
      Hello{.from = 1, .to = 0, .number = 1, .nonce = MakeTcpNonce()}.Encode();
  for (size_t length = 1; length < good.size(); ++length) {
    UniqueFd socket = Dial(*a);
    const std::string start(good.begin(), good.begin() + static_cast<ptrdiff_t>(length));
    send(socket.get(), start.data(), start.size(), MSG_NOSIGNAL);
    shutdown(socket.get(), SHUT_WR);
    EXPECT_EQ(Exchange(*a, socket.get(), ""), "") << length;
  }
}

// What was overheard opens nothing: the nonce of the called is another each time.
TEST_F(MeetingTest, AReplayedProofIsRefused) {
  auto a = Make(0);
  const Hello::Bytes said =
      Hello{.from = 1, .to = 0, .number = 1, .nonce = MakeTcpNonce()}.Encode();
  const auto proof_for = [&](const std::string& answer) {
    Challenge::Bytes challenge;
    std::copy_n(answer.begin(), challenge.size(), challenge.begin());
    return ProveCaller(kSecret, said, challenge);
  };
  std::string overheard;
  {
    const UniqueFd first = Dial(*a);
    overheard = Text(proof_for(Exchange(*a, first.get(), Text(said))));
  }
  const UniqueFd second = Dial(*a);
  ASSERT_EQ(Exchange(*a, second.get(), Text(said)).size(), Challenge::kBytes);
  EXPECT_EQ(Exchange(*a, second.get(), overheard), "") << "hangs up";
}

// Who is called sends back what the caller said: the proof of one side is none of the other.
TEST_F(MeetingTest, AReflectedProofIsRefused) {
  const Hello::Bytes said = Hello{.from = 1, .number = 1}.Encode();
  const Challenge::Bytes sealed = Challenge{}.Seal(kSecret, said);
  const TcpProof of_caller = ProveCaller(kSecret, said, sealed);
  EXPECT_FALSE(SameInConstantTime(of_caller, std::span(sealed).last<32>()));
}

TEST_F(MeetingTest, SilentStrangersDoNotKeepOutAPeer) {
  auto a = Make(0), b = Make(1);
  std::vector<UniqueFd> strangers;
  for (size_t i = 0; i < TcpTransport::kMaxMeeting + 10; ++i) strangers.push_back(Dial(*b));
  ASSERT_TRUE(a->Connect(1, b->Address()).ok());
  // They have three seconds, a call two: it is made again by then.
  auto patient = TcpTransport::Create({.secret = kSecret}, node_.view(0));
  ASSERT_TRUE(patient.ok());
  ASSERT_TRUE((*patient)->Connect(1, b->Address()).ok());
  EXPECT_TRUE(Until({patient->get(), b.get()}, [&] { return Told(Event::Kind::kConnected); }));
}

}  // namespace
}  // namespace weft
