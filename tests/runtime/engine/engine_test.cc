// The Engine over the bare shm transport: what it accepts, refuses and reports.
// tests/conformance has what must hold over every transport.
#include "runtime/engine/engine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/base/in_doubt.h"
#include "runtime/transport/shm/shm_transport.h"
#include "tests/support/test_node.h"

namespace weft {
namespace {

constexpr uint64_t kSlabBytes = 1 << 20;

bool Mentions(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

PeerCard CardOf(TestNode& node, Rank rank) {
  const NodeView view = node.view(rank);
  ShmTransport transport(view);
  const std::span<std::byte> slab(view.slab(rank), view.slab_bytes);
  const std::span<std::byte> control(reinterpret_cast<std::byte*>(&view.control(rank)),
                                     kControlBytes);
  return {.address = transport.Address(),
          .slab_key = (*transport.Register({Segment::Kind::kSlab, slab}))->key(),
          .control_key = (*transport.Register({Segment::Kind::kControl, control}))->key()};
}

class EngineTest : public testing::Test {
 protected:
  static Deadline Soon() { return Deadline::After(absl::Seconds(60)); }

  static Engine::Request Put(uint64_t offset, const void* source, uint64_t length) {
    return {.peer = 1, .offset = offset, .source = source, .length = length};
  }
  std::byte* slab() { return node_.view(0).slab(1); }

  TestNode node_{3, kSlabBytes};
  int lookups_ = 0;
  Engine engine_{std::make_unique<ShmTransport>(node_.view(0)), node_.view(0),
                 [this](Rank rank) -> absl::StatusOr<PeerCard> {
                   ++lookups_;
                   return CardOf(node_, rank);
                 }};
};

TEST_F(EngineTest, PutsAndGetsOfManySizes) {
  for (uint64_t length : {0, 1, 3, 8, 9, 255, 257, 16384, 16385, 500'000}) {
    std::vector<std::byte> source(length), back(length, std::byte{1});
    for (size_t i = 0; i < length; ++i) source[i] = static_cast<std::byte>(i * 7 + length);
    ASSERT_TRUE(engine_.Run(Put(64, source.data(), length), Soon()).ok());
    if (length > 0) {
      EXPECT_EQ(std::memcmp(slab() + 64, source.data(), length), 0);
    }
    const Engine::Request get = {.kind = Op::Kind::kGet,
                                 .peer = 1,
                                 .offset = 64,
                                 .destination = back.data(),
                                 .length = length};
    ASSERT_TRUE(engine_.Run(get, Soon()).ok());
    EXPECT_EQ(back, source);
  }
  EXPECT_EQ(lookups_, 1);
  EXPECT_EQ(engine_.unsettled().load(), 0u);
}

TEST_F(EngineTest, AtomicsReturnTheOldValue) {
  const auto run = [&](Op::Kind kind, uint64_t operand, uint64_t compare = 0) {
    uint64_t old = 99;
    const Engine::Request request = {.kind = kind,
                                     .peer = 1,
                                     .offset = 8,
                                     .destination = &old,
                                     .length = 8,
                                     .operand = operand,
                                     .compare = compare};
    EXPECT_TRUE(engine_.Run(request, Soon()).ok());
    return old;
  };
  EXPECT_EQ(run(Op::Kind::kFetchAdd, 5), 0u);
  EXPECT_EQ(run(Op::Kind::kCompareSwap, 9, 4), 5u);
  EXPECT_EQ(run(Op::Kind::kCompareSwap, 12, 5), 5u);
  EXPECT_EQ(run(Op::Kind::kSwap, 6), 12u);
  EXPECT_EQ(run(Op::Kind::kOr, 9), 6u);
  EXPECT_EQ(run(Op::Kind::kAnd, 13), 15u);
  EXPECT_EQ(run(Op::Kind::kXor, 1), 13u);
  EXPECT_EQ(run(Op::Kind::kFetch, 0), 12u);
  const Engine::Request set = {.kind = Op::Kind::kSet, .peer = 1, .offset = 8, .length = 8};
  EXPECT_TRUE(engine_.Run(set, Soon()).ok());
  EXPECT_EQ(run(Op::Kind::kFetch, 0), 0u);
}

TEST_F(EngineTest, BadAddressesNameWhatWasWrong) {
  const uint64_t value = 1;
  const absl::Status status = engine_.Run(Put(kSlabBytes - 4, &value, 8), Soon());
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  for (const char* part : {"rank 1", "1048572", "8 bytes", "1048576"}) {
    EXPECT_TRUE(Mentions(status, part)) << status;
  }
  const auto code = [&](const Engine::Request& request) {
    return engine_.Run(request, Soon()).code();
  };
  using enum absl::StatusCode;
  using Kind = Op::Kind;
  EXPECT_EQ(code(Put(UINT64_MAX - 7, &value, 8)), kOutOfRange);
  EXPECT_EQ(code({.kind = Kind::kFetchAdd, .peer = 1, .offset = 4, .length = 8}), kOutOfRange);
  EXPECT_EQ(code({.ride = Ride::kAddSignal, .peer = 1, .compare = kSlabBytes - 4}), kOutOfRange);
  EXPECT_EQ(code({.kind = Kind::kFetchAdd, .peer = 1, .length = 2}), kInvalidArgument);
  EXPECT_EQ(code({.peer = 3}), kInvalidArgument);
  EXPECT_EQ(code({.ride = Ride::kCounter, .peer = 1, .operand = kMaxCounters}), kInvalidArgument);
  EXPECT_EQ(code({.kind = Kind::kGet, .ride = Ride::kCounter, .peer = 1}), kInvalidArgument);
}

TEST_F(EngineTest, ErrorsOfPostsComeAtFlush) {
  const uint64_t value = 1;
  engine_.Post(Put(kSlabBytes, &value, 8), Soon());
  engine_.Post(Put(0, &value, 8), Soon());
  engine_.Post({.peer = 70'000, .source = &value, .length = 8}, Soon());
  EXPECT_NE(engine_.unsettled().load(), 0u);
  EXPECT_TRUE(engine_.Flush(2, Soon()).ok());
  EXPECT_TRUE(absl::IsOutOfRange(engine_.Flush(1, Soon())));
  EXPECT_TRUE(engine_.Flush(1, Soon()).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(engine_.FlushAll(Soon())));
  EXPECT_TRUE(engine_.FlushAll(Soon()).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(engine_.Flush(3, Soon())));
  engine_.RecordError(2, absl::AbortedError("from above"));
  EXPECT_TRUE(absl::IsAborted(engine_.FlushAll(Soon())));
  uint64_t landed;
  std::memcpy(&landed, slab(), 8);
  EXPECT_EQ(landed, 1u);
}

TEST_F(EngineTest, PostedValuesAndResultsAreDelivered) {
  uint64_t old = 7;
  for (uint64_t i = 0; i < 10'000; ++i) {  // More than the ledger holds.
    engine_.Post(Put(8 * i, &i, 8), Soon());
  }
  const Engine::Request add = {.kind = Op::Kind::kFetchAdd,
                               .peer = 1,
                               .offset = 80,
                               .destination = &old,
                               .length = 8,
                               .operand = 1};
  engine_.Post(add, Soon());
  ASSERT_TRUE(engine_.Flush(1, Soon()).ok());
  EXPECT_EQ(old, 10u);
  for (uint64_t i = 0; i < 10'000; ++i) {
    uint64_t value;
    std::memcpy(&value, slab() + 8 * i, 8);
    ASSERT_EQ(value, i == 10 ? 11 : i);
  }
}

TEST_F(EngineTest, ADeadRankIsNamedForEver) {
  const uint64_t value = 1;
  ASSERT_TRUE(engine_.Run(Put(0, &value, 8), Soon()).ok());
  node_.authority().MarkDead(1, 9);
  for (int i = 0; i < 2; ++i) {
    const absl::Status run = engine_.Run(Put(0, &value, 8), Soon());
    EXPECT_TRUE(absl::IsUnavailable(run));
    EXPECT_TRUE(Mentions(run, "rank 1") && Mentions(run, "signal 9")) << run;
    EXPECT_FALSE(IsInDoubt(run));  // It never started.
    EXPECT_TRUE(absl::IsUnavailable(engine_.Flush(1, Soon())));
    EXPECT_TRUE(absl::IsUnavailable(engine_.FlushAll(Soon())));
    EXPECT_TRUE(engine_.Flush(2, Soon()).ok());
  }
  EXPECT_TRUE(engine_.Run({.peer = 2, .source = &value, .length = 8}, Soon()).ok());
}

// What this rank stored inline never came by the Engine.
TEST_F(EngineTest, AFlushOfAllNamesADeadRankThatWasNeverOperatedOn) {
  EXPECT_TRUE(engine_.FlushAll(Soon()).ok());
  node_.authority().MarkDead(2, 9);
  const absl::Status flushed = engine_.FlushAll(Soon());
  EXPECT_EQ(flushed.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Mentions(flushed, "rank 2")) << flushed;
}

TEST_F(EngineTest, WhoeverLeftIsStillReachable) {
  const uint64_t value = 3;
  node_.authority().MarkLeft(1);
  EXPECT_TRUE(engine_.Run(Put(0, &value, 8), Soon()).ok());
  EXPECT_TRUE(engine_.FlushAll(Soon()).ok());
}

TEST_F(EngineTest, AnUnknownHandleIsRefused) {
  const uint64_t value = 1;
  const auto handle = engine_.Start(Put(0, &value, 8), Soon());
  ASSERT_TRUE(handle.ok());
  EXPECT_TRUE(engine_.Done(*handle));
  // It is complete: never late.
  EXPECT_TRUE(engine_.Finish(*handle, Deadline::AtMonotonicNanos(0)).ok());
  EXPECT_TRUE(absl::IsInternal(engine_.Finish(*handle, Soon())));
}

TEST(EngineDirectory, AFailedLookUpIsReportedAndTriedAgain) {
  TestNode node(2, kSlabBytes);
  bool known = false;
  Engine engine(std::make_unique<ShmTransport>(node.view(0)), node.view(0),
                [&](Rank rank) -> absl::StatusOr<PeerCard> {
                  if (!known) return absl::NotFoundError("not published");
                  return CardOf(node, rank);
                });
  const uint64_t value = 1;
  const Engine::Request put = {.peer = 1, .source = &value, .length = 8};
  const absl::Status status = engine.Run(put, Deadline());
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_TRUE(Mentions(status, "rank 1") && Mentions(status, "not published")) << status;
  known = true;
  EXPECT_TRUE(engine.Run(put, Deadline()).ok());
}

}  // namespace
}  // namespace weft
