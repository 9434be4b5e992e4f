// What a peer that is known may do to a rank over TCP, and what it may not: cases 1 and 2.
#include "runtime/transport/tcp/served_lane.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "tests/runtime/transport/tcp/served_memory.h"

namespace weft {
namespace {

using Standing = ServedLane::Standing;

class ServedLaneTest : public testing::Test {
 protected:
  void Send(const RequestFrame& frame, std::string_view data = {}) {
    std::string bytes(frame.bytes(), '\0');
    frame.Encode(reinterpret_cast<std::byte*>(bytes.data()));
    SendBytes(bytes.append(data));
  }
  void SendBytes(std::string_view bytes) {
    ASSERT_EQ(send(pair_.theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  Standing Serve() {
    bool any = false;
    return lane_.Serve(any);
  }
  std::string Received() {
    char bytes[512];
    const ssize_t got = recv(pair_.theirs.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
    return std::string(bytes, std::max<ssize_t>(got, 0));
  }
  std::optional<ReplyFrame> Reply() {
    std::byte bytes[ReplyFrame::kBytes];
    if (recv(pair_.theirs.get(), bytes, sizeof(bytes), MSG_DONTWAIT) != sizeof(bytes)) {
      return std::nullopt;
    }
    return ReplyFrame::Decode(bytes);
  }

  GuardedMemory memory_;
  StreamPair pair_;
  ServedLane lane_{std::move(pair_.ours), Lane::kSmall, memory_.served()};
};

TEST_F(ServedLaneTest, WhatIsOutOfBoundsIsRefusedAndTouchesNothing) {
  constexpr uint64_t kEnd = GuardedMemory::kSlabBytes;
  const RequestFrame kBad[] = {
      {.offset = kEnd - 8, .length = 16},
      {.offset = RequestFrame::kMaxOffset, .length = 1},
      {.offset = kEnd, .length = UINT32_MAX},
      {.kind = Op::Kind::kGet, .offset = kEnd - 7, .length = 8},
      {.kind = Op::Kind::kFetchAdd, .offset = 4, .length = 8, .operand = 1},
      {.kind = Op::Kind::kFetchAdd, .offset = 0, .length = 2, .operand = 1},
      {.ride = Ride::kCounter, .length = 8, .operand = kMaxCounters},
      {.ride = Ride::kSetSignal, .length = 8, .operand = 1, .compare = kEnd},
      {.ride = Ride::kAddSignal, .length = 8, .operand = 1, .compare = uint64_t{1} << 63},
      {.ride = Ride::kAddSignal, .length = 8, .operand = 1, .compare = 4}};
  for (const RequestFrame& bad : kBad) {
    GuardedMemory memory;
    StreamPair pair;
    ServedLane lane(std::move(pair.ours), Lane::kSmall, memory.served());
    std::string bytes(bad.bytes(), '\0');
    bad.Encode(reinterpret_cast<std::byte*>(bytes.data()));
    bytes.append(64, 'x');
    ASSERT_GT(send(pair.theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    bool any = false;
    EXPECT_EQ(lane.Serve(any), Standing::kRefused) << bad.offset << ' ' << bad.length;
    std::byte reply[ReplyFrame::kBytes];
    ASSERT_EQ(recv(pair.theirs.get(), reply, sizeof(reply), MSG_DONTWAIT), ssize_t{sizeof(reply)});
    EXPECT_EQ(ReplyFrame::Decode(reply), (ReplyFrame{.kind = ReplyFrame::Kind::kRefused,
                                                     .reason = RefusalReason::kOutOfBounds}));
    EXPECT_TRUE(memory.GuardsAreUntouched());
    EXPECT_EQ(memory.slab()[0], GuardedMemory::kUntouched);
  }
}

TEST_F(ServedLaneTest, RandomBoundsAgreeWithWideArithmetic) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    RequestFrame frame = {.kind = Op::Kind::kGet};
    frame.offset = random() % (2 * GuardedMemory::kSlabBytes);
    if (i % 4 == 0) frame.offset = random() & RequestFrame::kMaxOffset;
    frame.length = static_cast<uint32_t>(random() % 512);
    if (i % 8 == 0) frame.length = static_cast<uint32_t>(random());
    const bool inside = static_cast<__int128>(frame.offset) + frame.length <=
                        static_cast<__int128>(GuardedMemory::kSlabBytes);
    StreamPair pair;
    ServedLane lane(std::move(pair.ours), Lane::kSmall, memory_.served());
    std::byte bytes[RequestFrame::kMaxBytes];
    frame.Encode(bytes);
    ASSERT_GT(send(pair.theirs.get(), bytes, frame.bytes(), MSG_NOSIGNAL), 0);
    bool any = false;
    ASSERT_EQ(lane.Serve(any), inside ? Standing::kOpen : Standing::kRefused)
        << frame.offset << ' ' << frame.length;
  }
}

TEST_F(ServedLaneTest, ARequestMayComeByteByByte) {
  const RequestFrame put = {.ride = Ride::kCounter, .offset = 16, .length = 8, .operand = 3};
  std::string bytes(put.bytes(), '\0');
  put.Encode(reinterpret_cast<std::byte*>(bytes.data()));
  bytes += "abcdefgh";
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(memory_.slab()[16], GuardedMemory::kUntouched) << i;
    SendBytes(bytes.substr(i, 1));
    ASSERT_EQ(Serve(), Standing::kOpen);
  }
  EXPECT_EQ(std::memcmp(memory_.slab().data() + 16, "abcdefgh", 8), 0);
  EXPECT_EQ(memory_.served().control->counters[3].arrivals, 1u);
  EXPECT_EQ(Reply(), (ReplyFrame{.number = 1}));
}

TEST_F(ServedLaneTest, ManyPutsGetOneReply) {
  for (int i = 0; i < 100; ++i) Send({.offset = 8u * i, .length = 8}, "12345678");
  ASSERT_EQ(Serve(), Standing::kOpen);
  EXPECT_EQ(Reply(), (ReplyFrame{.number = 100}));
}

TEST_F(ServedLaneTest, RepliesKeepTheOrderOfTheRequests) {
  Send({.offset = 0, .length = 8}, "12345678");
  Send({.kind = Op::Kind::kGet, .offset = 0, .length = 8});
  Send({.kind = Op::Kind::kSet, .offset = 0, .length = 8, .operand = 5});
  Send({.kind = Op::Kind::kFetchAdd, .offset = 0, .length = 8, .operand = 2});
  ASSERT_EQ(Serve(), Standing::kOpen);
  const std::string received = Received();
  ASSERT_EQ(received.size(), 8u + 16 + 8 + 16);
  EXPECT_EQ(received.substr(16, 8), "12345678");
  uint64_t old;
  std::memcpy(&old, received.data() + 40, 8);
  EXPECT_EQ(old, 5u);
}

// A peer that does not take what it asked for is not read from, and gets it all once it does.
TEST_F(ServedLaneTest, APeerThatDoesNotTakeItsRepliesGetsThemLater) {
  constexpr int kGets = 200;
  constexpr size_t kLength = 32 << 10;
  memory_.slab()[kLength - 1] = std::byte{9};
  int sent = 0;
  size_t received = 0;
  std::vector<std::byte> buffer(256 << 10);
  while (received < kGets * (kLength + ReplyFrame::kBytes)) {
    for (; sent < kGets; ++sent) {
      const RequestFrame get = {.kind = Op::Kind::kGet, .length = kLength};
      std::byte bytes[RequestFrame::kMaxBytes];
      get.Encode(bytes);
      if (send(pair_.theirs.get(), bytes, get.bytes(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break;
    }
    ASSERT_EQ(Serve(), Standing::kOpen);
    const ssize_t got = recv(pair_.theirs.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) received += static_cast<size_t>(got);
  }
  EXPECT_EQ(sent, kGets);
  EXPECT_FALSE(lane_.blocked());
}

TEST_F(ServedLaneTest, WhatIsNoRequestIsRefused) {
  SendBytes(std::string(64, '\xff'));
  EXPECT_EQ(Serve(), Standing::kRefused);
  EXPECT_EQ(Reply(),
            (ReplyFrame{.kind = ReplyFrame::Kind::kRefused, .reason = RefusalReason::kMalformed}));
}

}  // namespace
}  // namespace weft
