#include "runtime/bootstrap/weftrun_bootstrap.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "runtime/memory/node_memory.h"
#include "tests/runtime/bootstrap/test_server.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr MemoryShape kShape = {.slab_bytes = 1 << 20, .local_bytes = 1 << 18};

// Nothing here takes that long; a failure ends a test instead of hanging it.
Deadline Soon() { return Deadline::After(absl::Seconds(60)); }
Deadline Short() { return Deadline::After(absl::Milliseconds(20)); }

std::string Text(const absl::Status& status) { return std::string(status.message()); }

std::unique_ptr<Bootstrap> Join(TestServer& server, Rank rank) {
  auto joined = WeftrunBootstrap::ConnectTo(server.TakeSocket(rank));
  EXPECT_TRUE(joined.ok()) << joined.status();
  return joined.ok() ? *std::move(joined) : nullptr;
}

std::vector<std::unique_ptr<Bootstrap>> JoinAll(TestServer& server, Rank size) {
  std::vector<std::unique_ptr<Bootstrap>> ranks;
  for (Rank rank = 0; rank < size; ++rank) ranks.push_back(Join(server, rank));
  return ranks;
}

// Calls `body` for each rank in a thread of its own.
void InParallel(Rank size, const std::function<void(Rank)>& body) {
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < size; ++rank) threads.emplace_back([&, rank] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

TEST(WeftrunBootstrapTest, EachRankLearnsWhoItIs) {
  TestServer server(3);
  const auto ranks = JoinAll(server, 3);
  for (Rank rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks[rank]->rank(), rank);
    EXPECT_EQ(ranks[rank]->size(), 3u);
    EXPECT_EQ(ranks[rank]->source(), "weftrun");
  }
}

TEST(WeftrunBootstrapTest, AJobHasOneSecretAndAnotherJobAnother) {
  TestServer server(2), other(1);
  const auto ranks = JoinAll(server, 2);
  EXPECT_EQ(ranks[0]->secret(), ranks[1]->secret());
  EXPECT_NE(ranks[0]->secret(), Join(other, 0)->secret());
  EXPECT_NE(ranks[0]->secret(), JobSecret());
}

TEST(WeftrunBootstrapTest, KeysAreSeenAfterAFence) {
  constexpr Rank kRanks = 5;
  TestServer server(kRanks);
  const auto ranks = JoinAll(server, kRanks);
  InParallel(kRanks, [&](Rank rank) {
    Bootstrap& mine = *ranks[rank];
    ASSERT_TRUE(mine.Put(absl::StrCat("key", rank), std::string(rank * 1000, 'v')).ok());
    ASSERT_TRUE(mine.Fence(Soon()).ok());
    for (Rank other = 0; other < kRanks; ++other) {
      const auto value = mine.Get(absl::StrCat("key", other), Soon());
      ASSERT_TRUE(value.ok()) << value.status();
      EXPECT_EQ(*value, std::string(other * 1000, 'v'));
    }
  });
}

TEST(WeftrunBootstrapTest, AKeyIsPutOnce) {
  TestServer server(2);
  const auto ranks = JoinAll(server, 2);
  ASSERT_TRUE(ranks[0]->Put("key", "value").ok());
  const absl::Status again = ranks[1]->Put("key", "other");
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(Text(again), AllOf(HasSubstr("rank 0"), HasSubstr("\"key\"")));
  EXPECT_EQ(*ranks[1]->Get("key", Soon()), "value");
}

TEST(WeftrunBootstrapTest, BoundsOfKeysAndValues) {
  TestServer server(1);
  const auto ranks = JoinAll(server, 1);
  const std::string key(Bootstrap::kMaxKeyBytes, 'k');
  const std::string value(Bootstrap::kMaxValueBytes, 'v');
  EXPECT_TRUE(ranks[0]->Put(key, value).ok());
  EXPECT_EQ(*ranks[0]->Get(key, Soon()), value);
  EXPECT_EQ(ranks[0]->Put(key + 'k', "").code(), absl::StatusCode::kInvalidArgument);
  const absl::Status oversize = ranks[0]->Put("big", value + 'v');
  EXPECT_EQ(oversize.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(oversize), AllOf(HasSubstr("16385"), HasSubstr("16384")));
  EXPECT_EQ(ranks[0]->Get("none", Soon()).status().code(), absl::StatusCode::kNotFound);
}

TEST(WeftrunBootstrapTest, MemoryIsShared) {
  constexpr Rank kRanks = 3;
  TestServer server(kRanks);
  const auto ranks = JoinAll(server, kRanks);
  InParallel(kRanks, [&](Rank rank) {
    auto fds = ranks[rank]->ShareMemory(kShape, Soon());
    ASSERT_TRUE(fds.ok()) << fds.status();
    ASSERT_TRUE(fds->has_value());
    auto memory = NodeMemory::Map(**fds, rank, kRanks, kShape);
    ASSERT_TRUE(memory.ok()) << memory.status();
    memory->view().slab(rank)[7] = static_cast<std::byte>(rank + 1);
    ASSERT_TRUE(ranks[rank]->Fence(Soon()).ok());
    for (Rank other = 0; other < kRanks; ++other) {
      EXPECT_EQ(memory->view().slab(other)[7], static_cast<std::byte>(other + 1));
    }
    ASSERT_TRUE(ranks[rank]->Fence(Soon()).ok());
  });
}

TEST(WeftrunBootstrapTest, UnequalShapesAreRefusedOnAllNamingARank) {
  constexpr Rank kRanks = 4;
  TestServer server(kRanks);
  const auto ranks = JoinAll(server, kRanks);
  InParallel(kRanks, [&](Rank rank) {
    MemoryShape shape = kShape;
    if (rank == 2) shape.slab_bytes *= 2;
    const absl::Status status = ranks[rank]->ShareMemory(shape, Soon()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Text(status),
                AllOf(HasSubstr("rank 2"), HasSubstr("2097152"), HasSubstr("1048576")));
  });
}

TEST(WeftrunBootstrapTest, DifferentCollectivesAreRefusedOnAll) {
  TestServer server(2);
  const auto ranks = JoinAll(server, 2);
  InParallel(2, [&](Rank rank) {
    const absl::Status status =
        rank == 0 ? ranks[0]->Fence(Soon()) : ranks[1]->ShareMemory(kShape, Soon()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Text(status), HasSubstr("rank 1"));
  });
}

TEST(WeftrunBootstrapTest, ADeathEndsAFenceAndIsReportedOnce) {
  constexpr Rank kRanks = 3;
  TestServer server(kRanks);
  const auto ranks = JoinAll(server, kRanks);
  EXPECT_FALSE(ranks[0]->NextDeath().has_value());
  std::thread killer([&] { server.Kill(1, "was killed by signal 9 (Killed)"); });
  for (const Rank rank : {0u, 2u}) {
    const absl::Status status = ranks[rank]->Fence(Soon());
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(Text(status), HasSubstr("rank 1 was killed by signal 9"));
  }
  killer.join();
  for (const Rank rank : {0u, 2u}) {
    EXPECT_EQ(ranks[rank]->NextDeath(), std::optional<Rank>(1));
    EXPECT_FALSE(ranks[rank]->NextDeath().has_value());
  }
  const absl::Status memory = ranks[0]->ShareMemory(kShape, Soon()).status();
  EXPECT_EQ(memory.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(memory), HasSubstr("rank 1"));
}

TEST(WeftrunBootstrapTest, ADeathBeforeTheJoinIsReportedToo) {
  TestServer server(2);
  server.Kill(1, "exited with status 1");
  const auto rank = Join(server, 0);
  // The answer to any request is behind the word of the death.
  EXPECT_EQ(rank->Fence(Soon()).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(rank->NextDeath(), std::optional<Rank>(1));
}

TEST(WeftrunBootstrapTest, ARankThatEndsUnjoinedEndsTheJoinOfTheOthers) {
  TestServer server(2);
  const auto rank = Join(server, 0);
  server.EndUnjoined(1);
  const absl::Status status = rank->ShareMemory(kShape, Soon()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(status), HasSubstr("rank 1 ended without joining"));
  EXPECT_FALSE(rank->NextDeath().has_value());
}

TEST(WeftrunBootstrapTest, ARankThatLeftEndsAFence) {
  TestServer server(2);
  const auto ranks = JoinAll(server, 2);
  ASSERT_TRUE(ranks[1]->Leave().ok());
  const absl::Status status = ranks[0]->Fence(Soon());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(status), HasSubstr("rank 1 has left"));
  EXPECT_FALSE(ranks[0]->NextDeath().has_value());
  EXPECT_EQ(ranks[1]->Put("key", "").code(), absl::StatusCode::kFailedPrecondition);
}

TEST(WeftrunBootstrapTest, ALateFenceNamesTheMissingAndIsTakenUpAgain) {
  TestServer server(3);
  auto first = Join(server, 0), second = Join(server, 1);
  const absl::Status late = first->Fence(Short());
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(late), HasSubstr("waiting for ranks 1, 2 (has not joined)"));
  EXPECT_EQ(first->ShareMemory(kShape, Short()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  // The fence completes while this rank is elsewhere,
  auto third = Join(server, 2);
  InParallel(2, [&](Rank rank) { EXPECT_TRUE((rank == 0 ? second : third)->Fence(Soon()).ok()); });
  ASSERT_TRUE(first->Put("key", "value").ok());
  // and is not entered a second time.
  EXPECT_TRUE(first->Fence(Short()).ok());
  EXPECT_EQ(first->Fence(Short()).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(WeftrunBootstrapTest, AbortReachesTheServerDuringAFence) {
  TestServer server(2);
  const auto ranks = JoinAll(server, 2);
  std::thread waits(
      [&] { EXPECT_EQ(ranks[0]->Fence(Soon()).code(), absl::StatusCode::kUnavailable); });
  ranks[0]->Abort(3, "the input is empty");
  ranks[0]->Abort(-1, "");
  const Deadline deadline = Soon();
  while (server.aborts().size() < 2 && !deadline.Expired()) std::this_thread::yield();
  EXPECT_THAT(server.aborts(),
              testing::ElementsAre("rank 0: 3: the input is empty", "rank 0: -1: "));
  server.Kill(1, "died");
  waits.join();
}

TEST(WeftrunBootstrapTest, NextDeathDoesNotWaitForACallUnderWay) {
  TestServer server(2);
  const auto ranks = JoinAll(server, 2);
  std::atomic<bool> done = false;
  std::thread waits([&] {
    EXPECT_EQ(ranks[0]->Fence(Soon()).code(), absl::StatusCode::kUnavailable);
    done = true;
  });
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(ranks[0]->NextDeath().has_value());
  EXPECT_FALSE(done);
  server.Kill(1, "died");
  waits.join();
  EXPECT_EQ(ranks[0]->NextDeath(), std::optional<Rank>(1));
}

// To rank 0 of 2.
WireMessage Welcome(uint32_t id) {
  return {.type = WireMessage::Type::kWelcome,
          .id = id,
          .second = 2,
          .value = std::string(sizeof(JobSecret), 's')};
}

TEST(WeftrunBootstrapTest, ADeathOfTheServerEndsCalls) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  UniqueFd server(ends[0]);
  std::thread answers([&] {
    const auto join = ReceiveDatagram(server.get(), Soon());
    ASSERT_TRUE(join.ok());
    const WireMessage welcome = Welcome(WireId(join->bytes));
    ASSERT_TRUE(SendDatagram(server.get(), EncodeWire(welcome), {}, Soon()).ok());
    ASSERT_TRUE(ReceiveDatagram(server.get(), Soon()).ok());
    server.reset();
  });
  auto rank = WeftrunBootstrap::ConnectTo(UniqueFd(ends[1]));
  ASSERT_TRUE(rank.ok()) << rank.status();
  EXPECT_EQ((*rank)->Fence(Soon()).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*rank)->Put("key", "").code(), absl::StatusCode::kUnavailable);
  answers.join();
}

// What joining says when the server's first answer is `answer`.
absl::Status JoinAnsweredBy(const std::string& answer) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd server(ends[0]);
  EXPECT_TRUE(SendDatagram(server.get(), answer, {}, Soon()).ok());
  return WeftrunBootstrap::ConnectTo(UniqueFd(ends[1])).status();
}

TEST(WeftrunBootstrapTest, AServerOfAnotherVersionIsNamed) {
  WireMessage welcome = Welcome(1);
  EXPECT_TRUE(JoinAnsweredBy(EncodeWire(welcome)).ok());
  welcome.version = kWireVersion + 1;
  const absl::Status status = JoinAnsweredBy(EncodeWire(welcome));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status), AllOf(HasSubstr(absl::StrCat("version ", kWireVersion + 1)),
                                  HasSubstr(absl::StrCat("version ", kWireVersion))));
}

TEST(WeftrunBootstrapTest, SenselessAnswersAreErrors) {
  using Type = WireMessage::Type;
  EXPECT_FALSE(JoinAnsweredBy(EncodeWire({.type = Type::kValue, .id = 1})).ok());
  WireMessage welcome = Welcome(1);
  welcome.first = 2;
  EXPECT_FALSE(JoinAnsweredBy(EncodeWire(welcome)).ok()) << "rank 2 of 2";
  welcome = Welcome(1);
  welcome.value.pop_back();
  EXPECT_FALSE(JoinAnsweredBy(EncodeWire(welcome)).ok()) << "less than a secret";
  EXPECT_FALSE(JoinAnsweredBy("no message").ok());
}

// A client of another version is told both.
TEST(WeftrunBootstrapTest, AClientOfAnotherVersionIsRefused) {
  TestServer server(1);
  const UniqueFd socket = server.TakeSocket(0);
  WireMessage join = {.type = WireMessage::Type::kJoin, .id = 5};
  join.version = kWireVersion + 1;
  ASSERT_TRUE(SendDatagram(socket.get(), EncodeWire(join), {}, Soon()).ok());
  const auto datagram = ReceiveDatagram(socket.get(), Soon());
  ASSERT_TRUE(datagram.ok()) << datagram.status();
  const auto answer = DecodeWire(datagram->bytes);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->id, 5u);
  const absl::Status status = StatusFromWire(*answer);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status), AllOf(HasSubstr(absl::StrCat("version ", kWireVersion + 1)),
                                  HasSubstr(absl::StrCat("version ", kWireVersion))));
}

// Every truncation of every request is answered by an error, and the server lives.
TEST(WeftrunBootstrapTest, TheServerSurvivesBrokenRequests) {
  TestServer server(1);
  const UniqueFd socket = server.TakeSocket(0);
  using Type = WireMessage::Type;
  for (const WireMessage& message : std::vector<WireMessage>{
           {.type = Type::kJoin, .id = 1},
           {.type = Type::kPut, .id = 2, .text = "key", .value = "value"},
           {.type = Type::kShareMemory, .id = 3, .first = 4096, .second = 0},
       }) {
    const std::string whole = EncodeWire(message);
    for (size_t length = 1; length < whole.size(); ++length) {
      ASSERT_TRUE(SendDatagram(socket.get(), whole.substr(0, length), {}, Soon()).ok());
      const auto datagram = ReceiveDatagram(socket.get(), Soon());
      ASSERT_TRUE(datagram.ok()) << datagram.status();
      const auto answer = DecodeWire(datagram->bytes);
      ASSERT_TRUE(answer.ok());
      EXPECT_FALSE(StatusFromWire(*answer).ok());
    }
  }
  // Longer than any message.
  ASSERT_TRUE(SendDatagram(socket.get(), std::string(2 * kMaxWireBytes, 'x'), {}, Soon()).ok());
  ASSERT_TRUE(ReceiveDatagram(socket.get(), Soon()).ok());
  auto joined = WeftrunBootstrap::ConnectTo(UniqueFd(dup(socket.get())));
  EXPECT_TRUE(joined.ok()) << joined.status();
}

// One that asks and does not listen holds up nobody, and gets its answers later.
TEST(WeftrunBootstrapTest, ARankThatDoesNotListenHoldsUpNobody) {
  TestServer server(2);
  const UniqueFd deaf = server.TakeSocket(0);
  const auto other = Join(server, 1);
  const std::string question = EncodeWire({.type = WireMessage::Type::kMissing, .id = 7});
  int asked = 0;
  while (SendDatagram(deaf.get(), question, {}, Short()).ok()) ++asked;
  EXPECT_GT(asked, 10);
  ASSERT_TRUE(other->Put("key", "value").ok());
  EXPECT_EQ(*other->Get("key", Soon()), "value");
  for (int i = 0; i < asked; ++i) {
    const auto answer = ReceiveDatagram(deaf.get(), Soon());
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(WireId(answer->bytes), 7u);
  }
}

std::string Place(int fd, uint64_t inode) { return absl::StrCat("fd=", fd, ",ino=", inode); }

uint64_t InodeOf(int fd) {
  struct stat file;
  EXPECT_EQ(fstat(fd, &file), 0);
  return file.st_ino;
}

// As weftrun's child has it: not close-on-exec.
UniqueFd Inherited(TestServer& server, Rank rank) {
  UniqueFd socket = server.TakeSocket(rank);
  fcntl(socket.get(), F_SETFD, 0);
  return socket;
}

TEST(WeftrunBootstrapTest, ConnectTakesTheInheritedSocket) {
  TestServer server(1);
  const int fd = Inherited(server, 0).release();
  const std::string place = Place(fd, InodeOf(fd));
  auto joined = WeftrunBootstrap::Connect(place);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);

  const absl::Status second = WeftrunBootstrap::Connect(place).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(second), HasSubstr("has joined the job already"));

  joined->reset();
  const absl::Status after = WeftrunBootstrap::Connect(place).status();
  EXPECT_EQ(after.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(after), HasSubstr("has been in the job already"));
}

TEST(WeftrunBootstrapTest, AnotherFileAtTheDescriptorIsNoticed) {
  TestServer server(1);
  const UniqueFd socket = Inherited(server, 0);
  const uint64_t inode = InodeOf(socket.get());
  int others[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, others), 0);
  const UniqueFd other(others[0]), other_end(others[1]);
  const UniqueFd file(open("/dev/null", O_RDONLY));
  for (const auto& [fd, ino] : std::vector<std::pair<int, uint64_t>>{
           {other.get(), inode}, {file.get(), inode}, {socket.get(), inode + 1}, {9999, inode}}) {
    const absl::Status status = WeftrunBootstrap::Connect(Place(fd, ino)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Text(status), HasSubstr("closed it"));
  }
}

TEST(WeftrunBootstrapTest, AMalformedPlaceIsRefused) {
  for (const char* place : {"", "fd=", "fd=3", "fd=3,ino=", "fd=x,ino=1", "fd=-1,ino=1",
                            "fd=3,ino=1x", "ino=1,fd=3", "fd=99999999999,ino=1"}) {
    const absl::Status status = WeftrunBootstrap::Connect(place).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << place;
    EXPECT_THAT(Text(status), HasSubstr("WEFT_BOOTSTRAP")) << place;
  }
}

TEST(WeftrunBootstrapTest, AForkedChildIsNoRank) {
  TestServer server(1);
  const int fd = Inherited(server, 0).release();
  const std::string place = Place(fd, InodeOf(fd));
  auto joined = WeftrunBootstrap::Connect(place);
  ASSERT_TRUE(joined.ok()) << joined.status();
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = absl::IsFailedPrecondition((*joined)->Put("key", "")) &&
                         absl::IsFailedPrecondition((*joined)->Fence(Deadline())) &&
                         absl::IsFailedPrecondition((*joined)->Leave()) &&
                         absl::IsFailedPrecondition(WeftrunBootstrap::Connect(place).status());
    (*joined)->Abort(1, "");
    _exit(refused ? 0 : 1);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE((*joined)->Put("key", "").ok());
  EXPECT_THAT(server.aborts(), IsEmpty());
}

TEST(WeftrunBootstrapTest, ASecondJoinOfARankIsRefused) {
  TestServer server(1);
  const UniqueFd socket = server.TakeSocket(0);
  auto first = WeftrunBootstrap::ConnectTo(UniqueFd(dup(socket.get())));
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = WeftrunBootstrap::ConnectTo(UniqueFd(dup(socket.get()))).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(second), HasSubstr(absl::StrCat("process ", getpid())));
}

}  // namespace
}  // namespace weft
