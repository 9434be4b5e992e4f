// The public API as a program uses it: every case runs on every rank of a job.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/rank_test.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace weft {
namespace {

using ::weft::testing::TheWorld;

Rank Right() { return (TheWorld().rank() + 1) % TheWorld().size(); }
Rank Left() { return (TheWorld().rank() + TheWorld().size() - 1) % TheWorld().size(); }

// How often to repeat what is to be repeated a lot; less where every operation is delayed.
uint64_t Times(uint64_t times) { return testing::OperationsAreSlow() ? times / 50 : times; }

#define ASSERT_OK(expression) ASSERT_EQ((expression), absl::OkStatus())
#define EXPECT_OK(expression) EXPECT_EQ((expression), absl::OkStatus())

struct Odd {
  char bytes[24];
};

TEST(World, KnowsItself) {
  const Team& team = TheWorld();
  EXPECT_EQ(team.size(), TheWorld().size());
  EXPECT_EQ(team.rank(team.index()), TheWorld().rank());
  EXPECT_EQ(World::Join({}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Access, ValuesAndSpansReachTheNeighbour) {
  auto words = Symmetric<uint64_t>::Create(TheWorld(), 1000);
  ASSERT_TRUE(words.ok()) << words.status();
  auto odds = Symmetric<Odd>::Create(TheWorld(), 2);
  ASSERT_TRUE(odds.ok()) << odds.status();
  auto bytes = Symmetric<uint8_t>::Create(TheWorld(), 1);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(words->size(), 1000u);
  for (uint64_t word : words->mine()) ASSERT_EQ(word, 0u) << "zeroed";
  ASSERT_OK(TheWorld().Barrier());

  ASSERT_OK(Put(words->at(Right(), 7), TheWorld().rank() + 100));
  Odd odd;
  std::memset(odd.bytes, 'a' + static_cast<int>(TheWorld().rank()), sizeof(odd.bytes));
  ASSERT_OK(Put(odds->at(Right(), 1), odd));
  ASSERT_OK(Put(bytes->at(Right()), static_cast<uint8_t>(TheWorld().rank())));
  std::vector<uint64_t> many(900);
  std::iota(many.begin(), many.end(), uint64_t{1000} * TheWorld().rank());
  ASSERT_OK(Put(words->at(Right(), 100), many));
  ASSERT_OK(TheWorld().Barrier());

  EXPECT_EQ(words->mine()[7], Left() + 100);
  EXPECT_EQ(odds->mine()[1].bytes[23], 'a' + static_cast<int>(Left()));
  EXPECT_EQ(bytes->mine()[0], Left());
  EXPECT_EQ(words->mine()[999], 1000 * Left() + 899);
  auto value = Get(words->at(Right(), 7));
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, TheWorld().rank() + 100);
  std::vector<uint64_t> back(900);
  ASSERT_OK(Get(words->at(Right(), 100), back));
  EXPECT_EQ(back, many);
  ASSERT_OK(TheWorld().Barrier());
}

TEST(Access, AsyncAndPostedFormsDoTheSame) {
  auto words = Symmetric<uint64_t>::Create(TheWorld(), 64);
  ASSERT_TRUE(words.ok()) << words.status();
  const std::vector<uint64_t> source(16, TheWorld().rank() + 1);
  Future<> put = AsyncPut(words->at(Right(), 0), 5);
  Future<> puts = AsyncPut(words->at(Right(), 16), source);
  PostPut(words->at(Right(), 1), 6);
  PostPut(words->at(Right(), 32), source);
  PostAdd(words->at(Right(), 2), 7);
  ASSERT_OK(put.Wait());
  ASSERT_OK(puts.WaitUntil(absl::Now() + absl::Seconds(60)));
  EXPECT_TRUE(puts.Ready());
  ASSERT_OK(puts.Wait()) << "a second wait says the same";
  ASSERT_OK(Flush(Right()));
  ASSERT_OK(TheWorld().Barrier());
  EXPECT_EQ(words->mine()[0], 5u);
  EXPECT_EQ(words->mine()[1], 6u);
  EXPECT_EQ(words->mine()[2], 7u);
  EXPECT_EQ(words->mine()[31], Left() + 1);
  EXPECT_EQ(words->mine()[47], Left() + 1);

  Future<uint64_t> get = AsyncGet(words->at(Right(), 16));
  std::vector<uint64_t> into(16);
  Future<> gets = AsyncGet(words->at(Right(), 32), into);
  std::vector<uint64_t> posted(16);
  PostGet(words->at(Right(), 32), posted);
  auto got = get.Wait();
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, TheWorld().rank() + 1);
  ASSERT_OK(gets.Wait());
  ASSERT_OK(Flush());
  EXPECT_EQ(into, source);
  EXPECT_EQ(posted, source);
  { Future<> dropped = AsyncPut(words->at(Right(), 3), 8); }
  ASSERT_OK(TheWorld().Barrier());
  EXPECT_EQ(words->mine()[3], 8u) << "a dropped future waits";
  ASSERT_OK(TheWorld().Barrier());
}

TEST(Access, BadAddressesMoveNothingAndSayWhy) {
  auto words = Symmetric<uint64_t>::Create(TheWorld(), 4);
  ASSERT_TRUE(words.ok()) << words.status();
  const RemotePtr<uint64_t> null;
  const RemotePtr<uint64_t> nobody(TheWorld().size(), 0);
  const RemotePtr<uint64_t> beyond(Right(), uint64_t{1} << 47);
  const RemotePtr<uint64_t> last(Right(), (uint64_t{1} << 48) - 8);
  for (const RemotePtr<uint64_t> bad : {null, nobody, beyond, last, null + 1}) {
    EXPECT_EQ(Put(bad, 1).code(), absl::StatusCode::kOutOfRange) << bad.bits();
    EXPECT_EQ(Get(bad).status().code(), absl::StatusCode::kOutOfRange) << bad.bits();
    EXPECT_EQ(FetchAdd(bad, 1).status().code(), absl::StatusCode::kOutOfRange) << bad.bits();
    EXPECT_EQ(AsyncPut(bad, 1).Wait().code(), absl::StatusCode::kOutOfRange) << bad.bits();
    uint64_t two[2] = {};
    EXPECT_EQ(Get(bad, two).code(), absl::StatusCode::kOutOfRange) << bad.bits();
  }
  PostPut(beyond, 1);
  const absl::Status flushed = Flush();
  EXPECT_EQ(flushed.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(flushed.message().find("rank " + std::to_string(Right())), absl::string_view::npos)
      << flushed;
  EXPECT_OK(Flush()) << "told once";
  EXPECT_EQ(Flush(TheWorld().size()).code(), absl::StatusCode::kOutOfRange);
  ASSERT_OK(TheWorld().Barrier());
}

TEST(Access, MisalignedValuesMoveAndMisalignedAtomicsDoNot) {
  auto bytes = Symmetric<uint8_t>::Create(TheWorld(), 64);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto odd = bytes->at(Right(), 3).As<uint64_t>();
  ASSERT_OK(Put(odd, 0x0102030405060708));
  auto value = Get(odd);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, 0x0102030405060708u);
  EXPECT_EQ(FetchAdd(odd, 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Fetch(odd).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_OK(TheWorld().Barrier());
}

TEST(Access, ZeroLengthSpansAreFine) {
  auto words = Symmetric<uint64_t>::Create(TheWorld(), 1);
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_OK(Put(words->at(Right()), std::span<const uint64_t>()));
  EXPECT_OK(Get(words->at(Right()), std::span<uint64_t>()));
  ASSERT_OK(TheWorld().Barrier());
}

TEST(Atomics, AllKindsOnBothWidths) {
  auto words = Symmetric<uint64_t>::Create(TheWorld(), 1);
  auto halves = Symmetric<int32_t>::Create(TheWorld(), 2);
  ASSERT_TRUE(words.ok() && halves.ok());
  const auto word = words->at(Right());
  const auto half = halves->at(Right());
  EXPECT_EQ(*FetchAdd(word, 5), 0u);
  EXPECT_EQ(*FetchAdd(half, -3), 0);
  EXPECT_EQ(*Swap(word, 12), 5u);
  EXPECT_EQ(*Swap(half, 12), -3);
  EXPECT_EQ(*FetchAnd(word, 6), 12u);
  EXPECT_EQ(*FetchOr(word, 3), 4u);
  EXPECT_EQ(*FetchXor(word, 1), 7u);
  EXPECT_EQ(*CompareSwap(word, 5, 9), 6u) << "not equal: unchanged";
  EXPECT_EQ(*CompareSwap(word, 6, 9), 6u);
  EXPECT_EQ(*Fetch(word), 9u);
  EXPECT_OK(Set(half, -7));
  EXPECT_EQ(*Fetch(half), -7);
  PostAnd(half, 0xff);
  Fence(Right());
  PostOr(half, 0x100);
  PostXor(half, 0x3);
  PostSet(word, 1);
  EXPECT_OK(Flush(Right()));
  EXPECT_EQ(*Fetch(half), 0x1fa);
  EXPECT_EQ(*AsyncFetchAdd(word, 1).Wait(), 1u);
  EXPECT_EQ(*AsyncCompareSwap(word, 2, 4).Wait(), 2u);
  EXPECT_EQ(*AsyncSwap(word, 5).Wait(), 4u);
  EXPECT_EQ(*AsyncFetch(word).Wait(), 5u);
  ASSERT_OK(TheWorld().Barrier());
}

struct Link {
  RemotePtr<Link> next;
  uint64_t value;
};

// A lock-free list whose head is swapped by all: RemotePtr lives in the heap.
TEST(Atomics, APointerInTheHeapCanBeCompareSwapped) {
  auto head = Symmetric<RemotePtr<Link>>::Create(TheWorld(), 1);
  ASSERT_TRUE(head.ok()) << head.status();
  constexpr uint64_t kLinks = 100;
  std::vector<RemotePtr<Link>> mine;
  for (uint64_t i = 0; i < kLinks; ++i) {
    auto link = Allocate<Link>();
    ASSERT_TRUE(link.ok()) << link.status();
    mine.push_back(*link);
    for (RemotePtr<Link> seen = *Fetch(head->at(0));;) {
      ASSERT_OK(Put(*link, Link{seen, TheWorld().rank() * kLinks + i}));
      const RemotePtr<Link> before = *CompareSwap(head->at(0), seen, *link);
      if (before == seen) break;
      seen = before;
    }
  }
  ASSERT_OK(TheWorld().Barrier());
  std::vector<bool> found(TheWorld().size() * kLinks);
  uint64_t count = 0;
  for (RemotePtr<Link> at = *Fetch(head->at(0)); at; ++count) {
    auto link = Get(at);
    ASSERT_TRUE(link.ok()) << link.status();
    ASSERT_LT(link->value, found.size());
    ASSERT_FALSE(found[link->value]);
    found[link->value] = true;
    at = link->next;
  }
  EXPECT_EQ(count, found.size());
  ASSERT_OK(TheWorld().Barrier());
  for (RemotePtr<Link> link : mine) EXPECT_OK(Free(link));
}

TEST(Atomics, TicketsAreUniqueAndDense) {
  auto counter = Symmetric<uint64_t>::Create(TheWorld(), 1);
  const uint64_t tickets = Times(10'000);
  auto owners = Symmetric<uint32_t>::Create(TheWorld(), tickets * TheWorld().size());
  ASSERT_TRUE(counter.ok() && owners.ok());
  for (uint64_t i = 0; i < tickets; ++i) {
    const uint64_t ticket = *FetchAdd(counter->at(0), 1);
    ASSERT_LT(ticket, owners->size());
    EXPECT_EQ(*FetchAdd(owners->at(0, ticket), 1u), 0u) << "ticket " << ticket << " drawn twice";
  }
  ASSERT_OK(TheWorld().Barrier());
  if (TheWorld().rank() == 0) {
    EXPECT_EQ(counter->mine()[0], owners->size());
    for (uint32_t times : owners->mine()) ASSERT_EQ(times, 1u);
  }
  ASSERT_OK(TheWorld().Barrier());
}

TEST(Notification, CarriesTheDataBeforeIt) {
  auto data = Symmetric<uint64_t>::Create(TheWorld(), 512);
  auto arrived = NotificationCounter::Create(TheWorld());
  auto consumed = NotificationCounter::Create(TheWorld());
  ASSERT_TRUE(data.ok() && arrived.ok() && consumed.ok());
  for (uint64_t round = 1; round <= 500; ++round) {
    const std::vector<uint64_t> block(round, round);
    if (round % 3 == 0) {
      PostPut(data->at(Right()), block);
      Fence(Right());
      PostNotify(Right(), *arrived);
    } else {
      PostPut(data->at(Right()), block, *arrived);
    }
    ASSERT_OK(arrived->Wait(1));
    for (uint64_t i = 0; i < round; ++i) ASSERT_EQ(data->mine()[i], round);
    ASSERT_OK(Put(data->at(Left(), 511), 0, *consumed));
    ASSERT_OK(consumed->Wait(1));
  }
  EXPECT_EQ(arrived->Arrived(), 0u);
}

TEST(Notification, ABurstLosesNothingAndALateWaitConsumesNothing) {
  auto arrived = NotificationCounter::Create(TheWorld());
  ASSERT_TRUE(arrived.ok()) << arrived.status();
  const uint64_t burst = Times(1'000'000);
  for (uint64_t i = 0; i < burst; ++i) PostNotify(Right(), *arrived);
  ASSERT_OK(arrived->Wait(burst - 1));
  EXPECT_EQ(arrived->WaitUntil(2, absl::Now() + absl::Milliseconds(20)).code(),
            absl::StatusCode::kDeadlineExceeded);
  ASSERT_OK(arrived->Wait(1));
  EXPECT_EQ(arrived->Arrived(), 0u);
  ASSERT_OK(TheWorld().Barrier());
}

TEST(Notification, ZeroLengthPutsNotifyToo) {
  auto words = Symmetric<uint64_t>::Create(TheWorld(), 1);
  auto arrived = NotificationCounter::Create(TheWorld());
  ASSERT_TRUE(words.ok() && arrived.ok());
  PostPut(words->at(Right()), std::span<const uint64_t>(), *arrived);
  ASSERT_OK(arrived->Wait(1));
  ASSERT_OK(TheWorld().Barrier());
}

TEST(Notification, ManyThreadsShareOneCounter) {
  auto arrived = NotificationCounter::Create(TheWorld());
  ASSERT_TRUE(arrived.ok()) << arrived.status();
  constexpr int kThreads = 4;
  const int each = static_cast<int>(Times(2000));
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < each; ++i) {
        PostNotify(Right(), *arrived);
        if (!arrived->Wait(1).ok()) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(arrived->Arrived(), 0u);
  ASSERT_OK(TheWorld().Barrier());
}

TEST(Signal, SetAndAddWakeTheirWaiter) {
  auto data = Symmetric<uint64_t>::Create(TheWorld(), 64);
  auto from_right = Symmetric<uint64_t>::Create(TheWorld(), 1);
  auto signals = Symmetric<uint64_t>::Create(TheWorld(), 2);
  ASSERT_TRUE(data.ok() && from_right.ok() && signals.ok());
  for (uint64_t round = 1; round <= 200; ++round) {
    const std::vector<uint64_t> block(64, round);
    PostPut(data->at(Right()), block, SetSignal(signals->at(Right(), 0), round));
    ASSERT_OK(WaitSignal(signals->at(TheWorld().rank(), 0), round));
    for (uint64_t word : data->mine()) ASSERT_EQ(word, round);
    PostPut(from_right->at(Left()), round, AddSignal(signals->at(Left(), 1), 2));
    ASSERT_OK(WaitSignal(signals->at(TheWorld().rank(), 1), 2 * round));
    ASSERT_EQ(from_right->mine()[0], round);
  }
  EXPECT_EQ(WaitSignalUntil(signals->at(TheWorld().rank(), 1), UINT64_MAX,
                            absl::Now() + absl::Milliseconds(20))
                .code(),
            absl::StatusCode::kDeadlineExceeded);
  ASSERT_OK(TheWorld().Barrier());
}

TEST(Signal, OnAnotherRankThanThePutIsRefused) {
  if (TheWorld().size() == 1) return;
  auto words = Symmetric<uint64_t>::Create(TheWorld(), 1);
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_EQ(Put(words->at(Right()), 1, SetSignal(words->at(TheWorld().rank()), 1)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WaitSignal(words->at(Right()), 0).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_OK(TheWorld().Barrier());
}

TEST(Symmetric, SpaceIsReusedOnceAllHaveReleased) {
  // Far more in total than the heap has.
  for (int i = 0; i < 50; ++i) {
    auto large = Symmetric<uint64_t>::Create(TheWorld(), 16 << 20 >> 3);
    ASSERT_TRUE(large.ok()) << i << ": " << large.status();
    ASSERT_EQ(large->mine()[(16 << 20 >> 3) - 1], 0u) << "zeroed again";
    ASSERT_OK(TheWorld().Barrier());
    ASSERT_OK(Put(large->at(Right(), (16 << 20 >> 3) - 1), 1));
    ASSERT_OK(TheWorld().Barrier());
    // Ranks release at different times.
    if (TheWorld().rank() % 2 == 0) std::this_thread::yield();
  }
}

TEST(Symmetric, ExhaustionIsTheSameOnAllRanksAndLosesNothing) {
  auto huge = Symmetric<uint64_t>::Create(TheWorld(), SIZE_MAX / 8);
  EXPECT_EQ(huge.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(huge.status().message().find("WEFT_HEAP_BYTES"), absl::string_view::npos)
      << huge.status();
  auto overflow = Symmetric<Odd>::Create(TheWorld(), SIZE_MAX);
  EXPECT_EQ(overflow.status().code(), absl::StatusCode::kResourceExhausted);
  auto none = Symmetric<uint64_t>::Create(TheWorld(), 0);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(none->mine().empty());
}

TEST(Symmetric, MismatchedCallsAreRefusedOnEveryRank) {
  if (TheWorld().size() == 1) return;
  const bool odd = TheWorld().rank() % 2 == 1;
  auto different = Symmetric<uint64_t>::Create(TheWorld(), odd ? 3 : 4);
  EXPECT_EQ(different.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(different.status().message().find("rank"), absl::string_view::npos)
      << different.status();
  // A barrier that meets a Create.
  if (odd) {
    EXPECT_EQ(TheWorld().Barrier().code(), absl::StatusCode::kInvalidArgument);
  } else {
    EXPECT_EQ(Symmetric<uint64_t>::Create(TheWorld(), 1).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  ASSERT_OK(TheWorld().Barrier()) << "the job goes on";
}

TEST(Allocate, AlignsFreesAndRefuses) {
  auto a = Allocate<Odd>(3);
  auto none = Allocate<uint64_t>(0);
  ASSERT_TRUE(a.ok() && none.ok());
  EXPECT_EQ(a->rank(), TheWorld().rank());
  EXPECT_EQ(a->offset() % 64, 0u);
  ASSERT_NE(Local(*a), nullptr);
  Local(*a)->bytes[0] = 'x';
  EXPECT_EQ(Get(*a)->bytes[0], 'x');
  EXPECT_OK(Free(*a));
  EXPECT_EQ(Free(*a).code(), absl::StatusCode::kInvalidArgument) << "freed twice";
  EXPECT_EQ(Free(*none + 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_OK(Free(*none));
  EXPECT_OK(Free(RemotePtr<Odd>()));
  if (TheWorld().size() > 1) {
    const absl::Status foreign = Free(RemotePtr<Odd>(Right(), a->offset()));
    EXPECT_EQ(foreign.code(), absl::StatusCode::kInvalidArgument);
  }
  auto full = Allocate<char>(size_t{1} << 40);
  EXPECT_EQ(full.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(full.status().message().find("WEFT_LOCAL_BYTES"), absl::string_view::npos);
  EXPECT_EQ(Allocate<Odd>(SIZE_MAX).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Counters, RunOutWithAnErrorAndAreReused) {
  std::vector<NotificationCounter> all;
  absl::Status status;
  while (status.ok()) {
    auto counter = NotificationCounter::Create(TheWorld());
    status = counter.status();
    if (counter.ok()) all.push_back(*std::move(counter));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(all.size(), 100u);
  all.clear();
  EXPECT_TRUE(NotificationCounter::Create(TheWorld()).ok());
}

absl::StatusOr<int> Half(int n) {
  if (n % 2 != 0) return absl::InvalidArgumentError("odd");
  return n / 2;
}
absl::Status Quarter(int n, int& result) {
  WEFT_TRY(absl::OkStatus());
  const int half = WEFT_TRY(Half(n));
  result = WEFT_TRY(Half(half));
  return absl::OkStatus();
}

TEST(Try, ReturnsErrorsAndYieldsValues) {
  int result = 0;
  EXPECT_OK(Quarter(8, result));
  EXPECT_EQ(result, 2);
  EXPECT_EQ(Quarter(6, result).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weft
