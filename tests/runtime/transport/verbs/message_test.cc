// What one rank tells another arrives as it was, or is refused.
#include "runtime/transport/verbs/message.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace weft {
namespace {

using Bytes = std::array<std::byte, Message::kBytes>;

Bytes Encoded(const Message& message) {
  Bytes bytes;
  message.Encode(bytes);
  return bytes;
}

constexpr Message kAtomic = {.kind = Message::Kind::kAtomic,
                             .number = 0xfffffff1,
                             .operation = Op::Kind::kCompareSwap,
                             .length = 4,
                             .segment = Segment::Kind::kControl,
                             .wakes = true,
                             .offset = 1,
                             .operand = 2,
                             .compare = 3};

TEST(Message, AnAtomicArrivesAsItWas) {
  const std::optional<Message> message = Message::Decode(Encoded(kAtomic));
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->kind, Message::Kind::kAtomic);
  EXPECT_EQ(message->number, 0xfffffff1u);
  EXPECT_EQ(message->operation, Op::Kind::kCompareSwap);
  EXPECT_EQ(message->length, 4);
  EXPECT_EQ(message->segment, Segment::Kind::kControl);
  EXPECT_TRUE(message->wakes);
  EXPECT_EQ(message->offset, 1u);
  EXPECT_EQ(message->operand, 2u);
  EXPECT_EQ(message->compare, 3u);
}

TEST(Message, AReplyArrivesAsItWas) {
  const std::optional<Message> message =
      Message::Decode(Encoded({.kind = Message::Kind::kReply,
                               .number = 7,
                               .operand = 9,
                               .result = Event::Result::kBadAddress}));
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->kind, Message::Kind::kReply);
  EXPECT_EQ(message->number, 7u);
  EXPECT_EQ(message->operand, 9u);
  EXPECT_EQ(message->result, Event::Result::kBadAddress);
}

TEST(Message, AnImmediateHasAKindAndANumber) {
  const Message ask = {.kind = Message::Kind::kAskBulk, .number = 0x123456};
  const std::optional<Message> message = Message::FromImmediate(ask.AsImmediate());
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->kind, Message::Kind::kAskBulk);
  EXPECT_EQ(message->number, 0x123456u);
  EXPECT_FALSE(Message::FromImmediate(kAtomic.AsImmediate()).has_value()) << "it does not fit";
  EXPECT_FALSE(Message::FromImmediate(0xffffffff).has_value());
}

TEST(Message, WhatIsNoMessageIsRefused) {
  struct Case {
    const char* what;
    size_t at;
    uint8_t value;
  };
  for (const Case& wrong :
       {Case{"kind", 0, 6}, Case{"a put is no atomic", 1, 0}, Case{"nor is a get", 1, 1},
        Case{"operation", 1, 10}, Case{"length", 2, 2}, Case{"length", 2, 0},
        Case{"local memory", 3, 2}, Case{"segment", 3, 0x40}}) {
    Bytes bytes = Encoded(kAtomic);
    bytes[wrong.at] = std::byte{wrong.value};
    EXPECT_FALSE(Message::Decode(bytes).has_value()) << wrong.what << " " << int{wrong.value};
  }
  Bytes reply = Encoded({.kind = Message::Kind::kReply});
  reply[1] = std::byte{4};
  EXPECT_FALSE(Message::Decode(reply).has_value()) << "no such result";
  const Bytes whole = Encoded(kAtomic);
  EXPECT_FALSE(Message::Decode(std::span(whole).first(31)).has_value());
  EXPECT_FALSE(Message::Decode({}).has_value());
}

}  // namespace
}  // namespace weft
