// What ranks say when they connect: whole, or refused.
#include "runtime/transport/verbs/cm_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CmMessageTest : public ::testing::Test {
 protected:
  const JobSecret secret_ = MakeJobSecret();
  const CmMessage::Nonce nonce_ = {1, 2, 3};
  const CmMessage request_ = {.kind = CmMessage::Kind::kRequest,
                              .lane = Lane::kBulk,
                              .from = 3,
                              .to = 65534,
                              .epoch = 4,
                              .number = 5,
                              .pair = 6,
                              .credit_address = uint64_t{7} << 40,
                              .credit_key = 8};

  absl::StatusCode CodeOf(std::span<const uint8_t> bytes) const {
    return CmMessage::Open(bytes, secret_, nonce_).status().code();
  }
};

TEST_F(CmMessageTest, SurvivesTheTrip) {
  const auto opened = CmMessage::Open(request_.Seal(secret_, nonce_), secret_, nonce_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(*opened, request_);
}

TEST_F(CmMessageTest, PaddingIsIgnored) {
  const CmMessage::Bytes bytes = request_.Seal(secret_, nonce_);
  std::vector<uint8_t> padded(bytes.begin(), bytes.end());
  padded.resize(196);
  EXPECT_TRUE(CmMessage::Open(padded, secret_, nonce_).ok());
}

TEST_F(CmMessageTest, TruncatedAtEachByteIsRefused) {
  const CmMessage::Bytes bytes = request_.Seal(secret_, nonce_);
  for (size_t length = 0; length < bytes.size(); ++length) {
    // An exact heap copy, so that AddressSanitizer sees one byte too far.
    const std::vector<uint8_t> copy(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
    EXPECT_EQ(CodeOf(copy), absl::StatusCode::kInvalidArgument) << length;
    // As InfiniBand would bring it.
    std::vector<uint8_t> padded = copy;
    padded.resize(CmMessage::kBytes);
    if (bytes[length] != 0) {
      EXPECT_NE(CodeOf(padded), absl::StatusCode::kOk) << length;
    }
    EXPECT_EQ(CmMessage::ProofOf(copy), CmMessage::Nonce());
  }
}

TEST_F(CmMessageTest, AChangeOfAnyBitIsRefused) {
  const CmMessage::Bytes bytes = request_.Seal(secret_, nonce_);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    CmMessage::Bytes changed = bytes;
    changed[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_NE(CodeOf(changed), absl::StatusCode::kOk) << bit;
  }
}

TEST_F(CmMessageTest, AnotherJobAndWhatWasMeantForAnotherRankAreNotProved) {
  const CmMessage::Bytes bytes = request_.Seal(secret_, nonce_);
  JobSecret other = secret_;
  other.back() ^= 1;
  EXPECT_EQ(CmMessage::Open(bytes, other, nonce_).status().code(),
            absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(CmMessage::Open(bytes, secret_, {3, 2, 1}).status().code(),
            absl::StatusCode::kUnauthenticated);
}

TEST_F(CmMessageTest, AnAnswerIsProvedOverItsRequestAlone) {
  const CmMessage::Nonce proof = CmMessage::ProofOf(request_.Seal(secret_, nonce_));
  CmMessage again = request_;
  ++again.number;
  const CmMessage::Nonce other = CmMessage::ProofOf(again.Seal(secret_, nonce_));
  const CmMessage reply = {.kind = CmMessage::Kind::kReply, .from = 1, .to = 3};
  EXPECT_TRUE(CmMessage::Open(reply.Seal(secret_, proof), secret_, proof).ok());
  EXPECT_FALSE(CmMessage::Open(reply.Seal(secret_, proof), secret_, other).ok());
}

TEST_F(CmMessageTest, AnotherVersionIsRefusedNamingBoth) {
  constexpr size_t kVersionAt = 4;
  for (const uint8_t version : {kCmVersion - 1, kCmVersion + 1}) {
    CmMessage::Bytes bytes = request_.Seal(secret_, nonce_);
    bytes[kVersionAt] = version;
    // However long the messages of that version are.
    for (const size_t length : {size_t{8}, bytes.size()}) {
      const absl::Status status =
          CmMessage::Open(std::span(bytes).first(length), secret_, nonce_).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr("version " + std::to_string(version)),
                        HasSubstr("version " + std::to_string(kCmVersion))));
    }
  }
}

TEST_F(CmMessageTest, WhatMakesNoSenseIsRefusedThoughItIsProved) {
  CmMessage bad = request_;
  bad.kind = static_cast<CmMessage::Kind>(4);
  EXPECT_EQ(CodeOf(bad.Seal(secret_, nonce_)), absl::StatusCode::kInvalidArgument);
  bad = request_;
  bad.refusal = CmMessage::Refusal::kGone;
  EXPECT_EQ(CodeOf(bad.Seal(secret_, nonce_)), absl::StatusCode::kInvalidArgument)
      << "a request that refuses";
  bad = request_;
  bad.kind = CmMessage::Kind::kRefusal;
  EXPECT_EQ(CodeOf(bad.Seal(secret_, nonce_)), absl::StatusCode::kInvalidArgument)
      << "a refusal that does not";
  bad = request_;
  bad.lane = static_cast<Lane>(2);
  EXPECT_EQ(CodeOf(bad.Seal(secret_, nonce_)), absl::StatusCode::kInvalidArgument);
  bad = request_;
  bad.from = 65535;
  EXPECT_EQ(CodeOf(bad.Seal(secret_, nonce_)), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weft
