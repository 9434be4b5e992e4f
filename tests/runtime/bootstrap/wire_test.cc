#include "runtime/bootstrap/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/job_secret.h"
#include "runtime/bootstrap/bootstrap.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using Type = WireMessage::Type;

std::vector<WireMessage> OneOfEach() {
  return {
      {.type = Type::kJoin, .id = 1},
      {.type = Type::kShareMemory, .id = 2, .first = 1 << 20, .second = 1 << 18},
      {.type = Type::kPut, .id = 3, .text = "key", .value = "value"},
      {.type = Type::kPut,
       .id = 3,
       .text = std::string(Bootstrap::kMaxKeyBytes, 'k'),
       .value = std::string(Bootstrap::kMaxValueBytes, '\0')},
      {.type = Type::kGet, .id = 4, .text = "key"},
      {.type = Type::kFence, .id = 5},
      {.type = Type::kMissing, .id = 6},
      {.type = Type::kLeave, .id = 7},
      {.type = Type::kAbort, .id = 8, .first = 3, .text = "gave up"},
      {.type = Type::kAcknowledge, .first = 3},
      {.type = Type::kAccuse, .first = 65534, .text = "no answer"},
      {.type = Type::kContinue,
       .id = 13,
       .first = 2,
       .second = uint64_t{1} << 40,
       .value = std::string(Bootstrap::kMaxResultBytes, 'r')},
      {.type = Type::kContinued,
       .id = 14,
       .first = uint64_t{1} << 40,
       .second = 1,
       .value = std::string("\7result")},
      {.type = Type::kWelcome,
       .id = 9,
       .first = 65534,
       .second = 65535,
       .value = std::string(sizeof(JobSecret), 's')},
      {.type = Type::kStatus, .id = 10, .first = 14, .text = "rank 2 died"},
      {.type = Type::kValue, .id = 11, .value = "value"},
      {.type = Type::kMemory, .id = 12, .first = 2},
      {.type = Type::kDeath, .first = 7},
  };
}

TEST(WireTest, EveryTypeSurvivesTheTrip) {
  for (const WireMessage& message : OneOfEach()) {
    const auto decoded = DecodeWire(EncodeWire(message));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, message);
  }
}

TEST(WireTest, TruncatedAtEachByteIsRefused) {
  for (const WireMessage& message : OneOfEach()) {
    const std::string datagram = EncodeWire(message);
    for (size_t length = 0; length < datagram.size(); ++length) {
      // An exact heap copy, so that AddressSanitizer sees one byte too far.
      const std::vector<char> copy(datagram.begin(),
                                   datagram.begin() + static_cast<ptrdiff_t>(length));
      EXPECT_EQ(DecodeWire({copy.data(), copy.size()}).status().code(),
                absl::StatusCode::kInvalidArgument)
          << length << " of " << datagram.size();
    }
    EXPECT_FALSE(DecodeWire(datagram + '\0').ok());
  }
}

TEST(WireTest, AnotherVersionIsRefusedNamingBoth) {
  for (const int delta : {-1, 1}) {
    WireMessage message = {.type = Type::kJoin, .id = 1};
    message.version = static_cast<uint16_t>(kWireVersion + delta);
    const absl::Status status = DecodeWire(EncodeWire(message)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("version " + std::to_string(message.version)));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("version " + std::to_string(kWireVersion)));
  }
}

TEST(WireTest, RandomBytesAreRefusedNamingOurVersion) {
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    std::string bytes(random() % 100, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const absl::Status status = DecodeWire(bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("version " + std::to_string(kWireVersion)));
  }
}

// Puts a 32-bit number over the one at `at`.
std::string With(std::string datagram, size_t at, uint32_t number) {
  std::memcpy(datagram.data() + at, &number, sizeof(number));
  return datagram;
}

TEST(WireTest, LengthsThatDoNotAddUpAreRefused) {
  constexpr size_t kTextBytesAt = 12, kValueBytesAt = 16;
  const std::string datagram = EncodeWire({.type = Type::kPut, .text = "key", .value = "value"});
  EXPECT_TRUE(DecodeWire(With(datagram, kTextBytesAt, 3)).ok());
  for (const uint32_t length : {0u, 2u, 4u, 8u, 257u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    EXPECT_FALSE(DecodeWire(With(datagram, kTextBytesAt, length)).ok()) << length;
    EXPECT_FALSE(DecodeWire(With(datagram, kValueBytesAt, length)).ok()) << length;
  }
  // Their sum wraps at 2^32 to the right length.
  for (const uint32_t length : {257u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    EXPECT_FALSE(
        DecodeWire(With(With(datagram, kTextBytesAt, length), kValueBytesAt, 8 - length)).ok())
        << length;
  }
}

TEST(WireTest, WhatATypeMayNotCarryIsRefused) {
  const std::string long_key(Bootstrap::kMaxKeyBytes + 1, 'k');
  const std::string long_value(Bootstrap::kMaxValueBytes + 1, 'v');
  for (const WireMessage& message : std::vector<WireMessage>{
           {.type = Type::kJoin, .first = 1},
           {.type = Type::kFence, .second = 1},
           {.type = Type::kFence, .text = "text"},
           {.type = Type::kGet, .text = ""},
           {.type = Type::kGet, .text = long_key},
           {.type = Type::kGet, .text = "key", .value = "value"},
           {.type = Type::kPut, .text = long_key, .value = "value"},
           {.type = Type::kPut, .text = "key", .value = long_value},
           {.type = Type::kPut, .text = "", .value = "value"},
           {.type = Type::kWelcome, .first = 65535, .second = 65535},
           {.type = Type::kWelcome, .first = 0, .second = 65536},
           {.type = Type::kWelcome, .second = 1, .value = std::string(sizeof(JobSecret) + 1, 's')},
           {.type = Type::kStatus, .first = 17},
           {.type = Type::kDeath, .first = 65535},
           {.type = Type::kAbort, .first = uint64_t{1} << 32},
           {.type = static_cast<Type>(0)},
           {.type = Type::kAcknowledge, .first = uint64_t{1} << 32},
           {.type = Type::kContinue, .value = std::string(Bootstrap::kMaxResultBytes + 1, 'r')},
           {.type = static_cast<Type>(12)},
           {.type = static_cast<Type>(255)},
       }) {
    EXPECT_EQ(DecodeWire(EncodeWire(message)).status().code(), absl::StatusCode::kInvalidArgument)
        << static_cast<int>(message.type);
  }
}

TEST(WireTest, ALongMessageIsCutToItsBound) {
  const absl::Status long_status = absl::UnavailableError(std::string(3 * kMaxWireTextBytes, 'x'));
  const auto decoded = DecodeWire(EncodeWire(StatusToWire(1, long_status)));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->text.size(), kMaxWireTextBytes);
}

TEST(WireTest, StatusSurvivesTheTrip) {
  const absl::Status status = absl::UnavailableError("rank 3 died");
  EXPECT_EQ(StatusFromWire(*DecodeWire(EncodeWire(StatusToWire(1, status)))), status);
  EXPECT_TRUE(StatusFromWire(*DecodeWire(EncodeWire(StatusToWire(1, absl::OkStatus())))).ok());
}

}  // namespace
}  // namespace weft
