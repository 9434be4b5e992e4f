#include "tools/weftrun/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/bootstrap/wire.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using Type = Frame::Type;

std::vector<Frame> Examples() {
  return {
      {.type = Type::kPlan, .data = std::string(100'000, 'p')},
      {.type = Type::kHeartbeat},
      {.type = Type::kSignal, .number = 15},
      {.type = Type::kFailed, .number = 137, .text = "rank 3 was killed"},
      {.type = Type::kAnswer, .rank = 65534, .data = std::string(kMaxWireBytes, '\0')},
      {.type = Type::kPublish, .rank = 3, .number = -1, .first = 2},
      {.type = Type::kOutput, .rank = 1, .first = 2, .data = "a line\n"},
      {.type = Type::kInput},
  };
}

TEST(FrameTest, WhatIsEncodedIsTakenFromAnyPieces) {
  std::string stream;
  for (const Frame& frame : Examples()) stream += EncodeFrame(frame);
  for (const size_t piece : {size_t{1}, size_t{39}, size_t{40}, size_t{4096}, stream.size()}) {
    std::string arrived;
    std::vector<Frame> frames;
    for (size_t at = 0; at < stream.size(); at += piece) {
      arrived += stream.substr(at, piece);
      // A byte at a time the large ones would take for ever.
      if (piece == 1 && arrived.size() > 100 && stream.size() - at > 2000) continue;
      std::string_view left = arrived;
      while (true) {
        const auto frame = TakeFrame(left);
        ASSERT_TRUE(frame.ok()) << frame.status();
        if (!frame->has_value()) break;
        frames.push_back(**frame);
      }
      arrived.erase(0, arrived.size() - left.size());
    }
    EXPECT_EQ(frames, Examples()) << "in pieces of " << piece;
    EXPECT_EQ(arrived, "");
  }
}

TEST(FrameTest, NoiseIsRefusedAtItsFirstByte) {
  for (const std::string& noise : {std::string("W"), std::string("Welcome to b\n")}) {
    std::string_view left = noise;
    const auto frame = TakeFrame(left);
    if (noise == "W") {
      // This may still become one.
      ASSERT_TRUE(frame.ok());
      EXPECT_FALSE(frame->has_value());
    } else {
      EXPECT_THAT(std::string(frame.status().message()), HasSubstr("\"Welcome to b\\n\""));
    }
  }
}

TEST(FrameTest, AnotherVersionIsNamed) {
  std::string bytes = EncodeFrame({.type = Type::kHeartbeat});
  bytes[4] = 77;
  std::string_view left = bytes;
  const absl::Status status = TakeFrame(left).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 77"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("same build"));
}

TEST(FrameTest, WhatATypeDoesNotCarryIsRefused) {
  for (const Frame& bad :
       {Frame{.type = Type::kHeartbeat, .rank = 1}, Frame{.type = Type::kHeartbeat, .data = "x"},
        Frame{.type = Type::kSignal, .number = 1, .text = "x"},
        Frame{.type = Type::kPublish, .first = 3}, Frame{.type = Type::kAnswer, .rank = 65535},
        Frame{.type = Type::kOutput, .first = 3},
        Frame{.type = Type::kInput, .data = std::string(kMaxInputBytes + 1, 'x')},
        Frame{.type = static_cast<Type>(63)}}) {
    const std::string bytes = EncodeFrame(bad);
    std::string_view left = bytes;
    EXPECT_EQ(TakeFrame(left).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(FrameTest, TextThatIsTooLongIsCut) {
  const std::string bytes =
      EncodeFrame({.type = Type::kNarration, .text = std::string(kMaxFrameText + 5, 't')});
  std::string_view left = bytes;
  const auto frame = TakeFrame(left);
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ((*frame)->text.size(), kMaxFrameText);
}

}  // namespace
}  // namespace weft
