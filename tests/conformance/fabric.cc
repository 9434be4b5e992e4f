#include "tests/conformance/fabric.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "tests/support/test_node.h"

namespace weft {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(2);
// What is longer is a bad length on purpose.
constexpr uint64_t kMaxLocalBytes = uint64_t{1} << 33;

// The board of one run, in memory that forked children share.
class SharedBoard {
 public:
  SharedBoard() {
    void* const memory =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    board_ = static_cast<Board*>(memory);  // All zero is its initial state.
  }
  ~SharedBoard() { munmap(board_, sizeof(Board)); }
  Board& operator*() { return *board_; }

 private:
  Board* board_;
};

template <typename RankType>
class Run {
 public:
  Run(const Fabric& fabric, Rank size, uint64_t slab_bytes,
      const std::function<void(RankType&)>& program)
      : fabric_(fabric), node_(size, slab_bytes), program_(program) {}

  void AsThreads() {
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < node_.size(); ++rank) {
      threads.emplace_back([this, rank] { RunRank(rank); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  void AsProcesses() {
    std::fflush(nullptr);
    std::vector<pid_t> pids;
    for (Rank rank = 0; rank < node_.size(); ++rank) {
      pids.push_back(fork());
      ASSERT_GE(pids.back(), 0);
      if (pids.back() == 0) {
        RunRank(rank);
        std::fflush(nullptr);
        _exit(testing::Test::HasFailure() ? 1 : 0);
      }
    }
    // What a node's guard does.
    for (size_t left = pids.size(); left > 0; --left) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, 0);
      const auto found = std::ranges::find(pids, pid);
      ASSERT_NE(found, pids.end());
      if (status == 0) continue;
      const Rank rank = static_cast<Rank>(found - pids.begin());
      node_.authority().MarkDead(rank, status);
      if ((*board_).died[rank]) continue;
      (*board_).failed = true;
      ADD_FAILURE() << "rank " << rank << " failed, wait status " << status;
    }
  }

 private:
  void RunRank(Rank rank) {
    bool over = false;
    try {
      RankType self(fabric_, node_, mutex_, *board_, rank);
      program_(self);
      over = true;
      self.End();
    } catch (const RankStopped&) {
    }
    if (testing::Test::HasFailure() || (!over && !(*board_).died[rank])) (*board_).failed = true;
  }

  const Fabric& fabric_;
  TestNode node_;
  std::mutex mutex_;
  SharedBoard board_;
  const std::function<void(RankType&)>& program_;
};

template <typename RankType>
void RunOn(const Fabric& fabric, Rank size, uint64_t slab_bytes,
           const std::function<void(RankType&)>& program) {
  Run<RankType> run(fabric, size, slab_bytes, program);
  if (fabric.processes) {
    run.AsProcesses();
  } else {
    run.AsThreads();
  }
}

}  // namespace

RankBase::RankBase(const Fabric& fabric, TestNode& node, std::mutex& authority_mutex, Board& board,
                   Rank rank)
    : fabric_(fabric),
      test_node_(node),
      authority_mutex_(authority_mutex),
      board_(board),
      node_(node.view(rank)) {}

void RankBase::WaitFor(const std::function<bool()>& done) {
  const Deadline patience = Deadline::After(kPatience);
  for (int i = 0; !done(); ++i) {
    if (board_.failed) throw RankStopped();
    if (patience.Expired()) {
      ADD_FAILURE() << "rank " << rank() << " waits in vain";
      throw RankStopped();
    }
    if (i < 1000) {
      sched_yield();
    } else {
      usleep(100);
    }
  }
}

void RankBase::Meet() {
  const uint32_t generation = board_.generation;
  if (board_.arrived.fetch_add(1) + 1 == size()) {
    board_.arrived = 0;
    ++board_.generation;
    return;
  }
  WaitFor([&] { return board_.generation != generation; });
}

void RankBase::End() {
  board_.over[rank()] = true;
  WaitFor([&] {
    for (Rank r = 0; r < size(); ++r) {
      if (!board_.over[r] && !board_.died[r]) return false;
    }
    return true;
  });
}

void RankBase::Die() {
  board_.died[rank()] = true;
  if (fabric_.processes) raise(SIGKILL);
  {
    const std::lock_guard lock(authority_mutex_);
    test_node_.authority().MarkDead(rank(), SIGKILL);
  }
  throw RankStopped();
}

std::unique_ptr<Transport> RankBase::MakeTransport() {
  std::unique_ptr<Transport> transport = fabric_.make(node_);
  const std::span<std::byte> control(reinterpret_cast<std::byte*>(&node_.control(rank())),
                                     kControlBytes);
  std::string parts[3] = {transport->Address()};
  for (const Segment& segment : {Segment{Segment::Kind::kSlab, {slab(), node_.slab_bytes}},
                                 Segment{Segment::Kind::kControl, control}}) {
    auto registration = transport->Register(segment);
    EXPECT_TRUE(registration.ok()) << registration.status();
    if (!registration.ok()) throw RankStopped();
    parts[1 + registrations_.size()] = (*registration)->key();
    registrations_.push_back(*std::move(registration));
  }
  Board::Card& card = board_.cards[rank()];
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_LE(parts[i].size(), sizeof(card.bytes[i]));
    card.length[i] = parts[i].copy(card.bytes[i], sizeof(card.bytes[i]));
  }
  Meet();
  return transport;
}

std::vector<Engine::RegisteredMemory> RankBase::registered() const {
  return {{.bytes = {slab(), node_.slab_bytes}, .local_key = registrations_[0]->local_key()},
          {.bytes = {reinterpret_cast<std::byte*>(&node_.control(rank())), kControlBytes},
           .local_key = registrations_[1]->local_key()}};
}

PeerCard RankBase::CardOf(Rank rank) const {
  const Board::Card& card = board_.cards[rank];
  const auto part = [&](size_t i) { return std::string(card.bytes[i], card.length[i]); };
  return {.address = part(0), .slab_key = part(1), .control_key = part(2)};
}

void TransportRank::Connect() {
  transport_ = std::make_unique<LockedTransport>(MakeTransport());
  if (transport_->caps().needs_service) service_.emplace(*transport_, transport_->mutex());
  for (Rank peer = 0; peer < size(); ++peer) {
    const PeerCard card = CardOf(peer);
    const auto slab = transport_->Import(peer, card.slab_key);
    const auto control = transport_->Import(peer, card.control_key);
    const absl::Status connected = transport_->Connect(peer, card.address);
    EXPECT_TRUE(slab.ok() && control.ok() && connected.ok()) << connected;
    if (!slab.ok() || !control.ok() || !connected.ok()) throw RankStopped();
    slabs_.push_back(*slab);
    controls_.push_back(*control);
  }
  WaitFor([&] {
    Poll();
    return connected_ == size();
  });
  Meet();
}

void TransportRank::Poll() {
  Event events[16];
  const size_t count = transport_->Poll(events);
  for (size_t i = 0; i < count; ++i) {
    if (events[i].kind == Event::Kind::kCompleted) events_.push_back(events[i]);
    if (events[i].kind == Event::Kind::kConnected) ++connected_;
  }
}

void TransportRank::ConnectAgain(Rank peer) {
  const uint32_t before = connected_;
  EXPECT_TRUE(transport_->Connect(peer, CardOf(peer).address).ok());
  WaitFor([&] {
    Poll();
    return connected_ == before + 1;
  });
}

uint32_t TransportRank::LocalKey(void* memory, uint64_t length) {
  constexpr uintptr_t kPage = 4096;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory) / kPage * kPage;
  const uintptr_t end = reinterpret_cast<uintptr_t>(memory) + length;
  std::unique_ptr<Registration>& found = local_[begin];
  // The largest that ever began on this page.
  if (found == nullptr || length_[begin] < end - begin) {
    length_[begin] = end - begin;
    auto registration =
        transport_->Register({.kind = Segment::Kind::kLocal,
                              .bytes = {reinterpret_cast<std::byte*>(begin), end - begin}});
    EXPECT_TRUE(registration.ok()) << registration.status();
    if (!registration.ok()) throw RankStopped();
    // Operations that name the former key may be under way.
    if (found != nullptr) former_.push_back(std::move(found));
    found = *std::move(registration);
  }
  return found->local_key();
}

bool TransportRank::TryPost(Rank peer, Op op) {
  if (transport_->caps().needs_registered_source && op.local != nullptr && op.length > 0 &&
      op.length <= kMaxLocalBytes) {
    op.local_key = LocalKey(op.local, op.length);
  }
  return transport_->Post(peer, {&op, 1}) == 1;
}

void TransportRank::Post(Rank peer, const Op& op) {
  WaitFor([&] {
    if (TryPost(peer, op)) return true;
    Poll();
    return false;
  });
}

Event::Result TransportRank::Wait(uint64_t token) {
  Event::Result result = Event::Result::kInternal;
  WaitFor([&] {
    Poll();
    const auto found = std::ranges::find(events_, token, &Event::token);
    if (found == events_.end()) return false;
    result = found->result;
    events_.erase(found);
    return true;
  });
  return result;
}

Event::Result TransportRank::Run(Rank peer, Op op) {
  op.token = next_token_++;
  Post(peer, op);
  return Wait(op.token);
}

void EngineRank::MakeEngine() {
  std::unique_ptr<Transport> transport = MakeTransport();
  const bool eager = transport->caps().connects_eagerly;
  bounces_ = transport->caps().needs_registered_source;
  engine_ = std::make_unique<Engine>(
      std::move(transport), node(),
      [this](Rank peer) -> absl::StatusOr<PeerCard> { return CardOf(peer); }, registered());
  if (!eager) return;
  const absl::Status connected = engine_->ConnectAll(Soon());
  EXPECT_TRUE(connected.ok()) << connected;
  if (!connected.ok()) throw RankStopped();
  Meet();
}

absl::Status EngineRank::Put(Rank peer, uint64_t offset, const void* source, uint64_t length) {
  return engine_->Run({.peer = peer, .offset = offset, .source = source, .length = length}, Soon());
}

absl::Status EngineRank::Get(Rank peer, uint64_t offset, void* destination, uint64_t length) {
  return engine_->Run({.kind = Op::Kind::kGet,
                       .peer = peer,
                       .offset = offset,
                       .destination = destination,
                       .length = length},
                      Soon());
}

void RunOnTransports(const Fabric& fabric, Rank size, uint64_t slab_bytes,
                     const std::function<void(TransportRank&)>& program) {
  RunOn<TransportRank>(fabric, size, slab_bytes, program);
}

void RunOnEngines(const Fabric& fabric, Rank size, uint64_t slab_bytes,
                  const std::function<void(EngineRank&)>& program) {
  RunOn<EngineRank>(fabric, size, slab_bytes, program);
}

void FillPattern(void* memory, size_t bytes, uint64_t seed) {
  auto* const out = static_cast<unsigned char*>(memory);
  uint64_t x = seed * 0x9e3779b97f4a7c15 + 1;
  for (size_t i = 0; i < bytes; i += 8) {
    x = x * 6364136223846793005 + 1442695040888963407;
    const uint64_t word = x ^ (x >> 29);
    std::memcpy(out + i, &word, std::min<size_t>(8, bytes - i));
  }
}

uint64_t Checksum(const void* memory, size_t bytes) {
  const auto* const in = static_cast<const unsigned char*>(memory);
  uint64_t sum = bytes;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, in + i, std::min<size_t>(8, bytes - i));
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    sum ^= sum >> 32;
  }
  return sum;
}

bool AllBytesAre(std::byte value, const void* memory, size_t bytes) {
  const auto* const in = static_cast<const std::byte*>(memory);
  return bytes == 0 || (in[0] == value && std::memcmp(in, in + 1, bytes - 1) == 0);
}

}  // namespace weft
