// A rank of a job that goes on when others die: survivor_program [--rounds N].
//
// In each round all that are alive work on each other, and check what must be so after a round
// that nobody's death disturbed. After a death they go on together. The program runs until a
// SIGUSR1 reaches the team's first rank, or for N rounds; then all leave. It tells, by lines:
//
//   up RANK PID
//   epoch E RANK: DEAD...       of each epoch that it was told of
//   team E RANK: MEMBERS...     each time that it goes on
//   salvaged RANK of DEAD
//   done RANK: rounds, operations by what they ended with
//   wrong RANK: ...             what must not be
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace weft::testing {
namespace {

std::atomic<bool> told_to_stop = false;

void Tell(const std::string& line) {
  const std::string whole = line + "\n";
  if (write(STDOUT_FILENO, whole.data(), whole.size()) < 0) std::abort();
}

constexpr size_t kWords = 32 * 1024;  // 256 KiB: the bulk lane too.

class Survivor {
 public:
  explicit Survivor(World& world, uint64_t rounds)
      : world_(world), rounds_(rounds), random_(world.rank() + 1) {}

  absl::Status Run();

 private:
  struct Objects {
    Symmetric<uint64_t> words;     // What the operations at random are on.
    Symmetric<uint64_t> ring;      // From the left neighbour.
    Symmetric<uint64_t> adds;      // At the team's first.
    Symmetric<uint64_t> stops;     // By round % 2: whether it is the last.
    Symmetric<uint64_t> progress;  // By rank: in which round it is.
    NotificationCounter from_left;
  };

  absl::Status Prepare();
  absl::Status Round(bool& last);
  // Until no new death comes between.
  absl::Status GoOn();
  absl::Status MeetAgain();
  void WorkAtRandom();
  void Salvage();
  Rank At(uint32_t index) const {
    return world_.team().rank(TeamIndex(index % world_.team().size()));
  }
  uint32_t Index() const { return world_.team().index().value(); }
  void Count(const absl::Status& status) { ++ended_[status.code()]; }
  void Wrong(const std::string& what) {
    Tell(absl::StrCat("wrong ", world_.rank(), ": round ", round_, ": ", what));
  }

  World& world_;
  const uint64_t rounds_;
  std::mt19937_64 random_;
  std::optional<Objects> objects_;
  uint64_t round_ = 1;
  uint64_t undisturbed_ = 0;
  std::vector<uint64_t> block_ = std::vector<uint64_t>(kWords);
  std::map<absl::StatusCode, uint64_t> ended_;
};

absl::Status Survivor::Prepare() {
  auto words = WEFT_TRY(Symmetric<uint64_t>::Create(world_, kWords));
  auto ring = WEFT_TRY(Symmetric<uint64_t>::Create(world_, 1));
  auto adds = WEFT_TRY(Symmetric<uint64_t>::Create(world_, 1));
  auto stops = WEFT_TRY(Symmetric<uint64_t>::Create(world_, 2));
  auto progress = WEFT_TRY(Symmetric<uint64_t>::Create(world_, world_.size()));
  auto from_left = WEFT_TRY(NotificationCounter::Create(world_));
  objects_.emplace(Objects{std::move(words), std::move(ring), std::move(adds), std::move(stops),
                           std::move(progress), std::move(from_left)});
  objects_->words.mine()[0] = 1000 + world_.rank();
  return world_.Barrier();
}

// Each ends exactly once, and with nothing but these.
void Survivor::WorkAtRandom() {
  std::vector<Future<uint64_t>> futures;
  for (int i = 0; i < 20; ++i) {
    const Rank to = At(static_cast<uint32_t>(random_()));
    const size_t at = 1 + random_() % (kWords - 1);
    switch (random_() % 6) {
      case 0:
        Count(Put(objects_->words.at(to, at), random_()));
        break;
      case 1:
        Count(Get(objects_->words.at(to, at)).status());
        break;
      case 2:
        futures.push_back(AsyncGet(objects_->words.at(to, at)));
        break;
      case 3:
        futures.push_back(AsyncFetchAdd(objects_->words.at(to, at), 1));
        break;
      case 4:
        PostPut(objects_->words.at(to, at), random_());
        break;
      case 5:
        if (random_() % 8 == 0) {
          Count(Put(objects_->words.at(to, 1), std::span<const uint64_t>(block_).subspan(1)));
        } else {
          Count(FetchAdd(objects_->words.at(to, at), 1).status());
        }
        break;
    }
  }
  for (Future<uint64_t>& future : futures) Count(future.Wait().status());
}

absl::Status Survivor::Round(bool& last) {
  const uint32_t size = world_.team().size();
  objects_->adds.mine()[0] = 0;
  WEFT_TRY(world_.Barrier());
  WorkAtRandom();
  const uint64_t token = round_ << 16 | world_.rank();
  PostPut(objects_->ring.at(At(Index() + 1)), token, objects_->from_left);
  const auto add = FetchAdd(objects_->adds.at(At(0)), 1);
  if (!add.ok()) return add.status();
  if (Index() == 0) {
    const uint64_t stop = told_to_stop.load() || round_ >= rounds_;
    for (uint32_t i = 0; i < size; ++i) PostPut(objects_->stops.at(At(i), round_ % 2), stop);
  }
  WEFT_TRY(objects_->from_left.Wait(1));
  const uint64_t got = objects_->ring.mine()[0];
  if (got != (round_ << 16 | At(Index() + size - 1))) {
    Wrong(absl::StrCat("the left neighbour's token is ", got >> 16, " of ", got & 0xffff));
  }
  WEFT_TRY(world_.Barrier());
  if (Index() == 0 && objects_->adds.mine()[0] != size) {
    Wrong(absl::StrCat(objects_->adds.mine()[0], " additions of ", size));
  }
  last = objects_->stops.mine()[round_ % 2] != 0;
  ++round_;
  ++undisturbed_;
  return absl::OkStatus();
}

void Survivor::Salvage() {
  for (const Rank dead : world_.Dead().ranks) {
    const auto slab = world_.Salvage(dead);
    if (absl::IsUnavailable(slab.status())) continue;  // Of another node.
    if (!slab.ok()) {
      Wrong(absl::StrCat("Salvage: ", slab.status().ToString()));
      continue;
    }
    uint64_t mark;
    std::memcpy(&mark, slab->data() + objects_->words.at(dead, 0).offset(), sizeof(mark));
    if (mark != 1000 + dead) Wrong(absl::StrCat("the slab of rank ", dead, " begins with ", mark));
    Tell(absl::StrCat("salvaged ", world_.rank(), " of ", dead));
  }
}

// What was under way of the last round is not to disturb the next; all take up the same.
absl::Status Survivor::MeetAgain() {
  WEFT_TRY(world_.Barrier());
  if (const uint64_t stale = objects_->from_left.Arrived(); stale > 0) {
    WEFT_TRY(objects_->from_left.Wait(stale));
  }
  const uint32_t size = world_.team().size();
  for (uint32_t i = 0; i < size; ++i) {
    PostPut(objects_->progress.at(At(i), world_.rank()), round_);
  }
  WEFT_TRY(world_.Barrier());
  for (uint32_t i = 0; i < size; ++i) {
    round_ = std::max(round_, objects_->progress.mine()[At(i)]);
  }
  // New objects are at the same place on all, whatever the death cut off.
  auto fresh = WEFT_TRY(Symmetric<uint64_t>::Create(world_, 100));
  PostPut(fresh.at(At(Index() + 1)), round_ << 16 | world_.rank());
  WEFT_TRY(world_.Barrier());
  if (fresh.mine()[0] != (round_ << 16 | At(Index() + size - 1))) {
    Wrong("a new object is not where the others have it");
  }
  return absl::OkStatus();
}

absl::Status Survivor::GoOn() {
  for (;;) {
    WEFT_TRY(world_.Continue());
    std::vector<Rank> members;
    for (uint32_t i = 0; i < world_.team().size(); ++i) members.push_back(At(i));
    Tell(absl::StrCat("team ", world_.Dead().epoch, " ", world_.rank(), ": ",
                      absl::StrJoin(members, " ")));
    Salvage();
    absl::Status met = MeetAgain();
    if (!absl::IsUnavailable(met)) return met;
  }
}

absl::Status Survivor::Run() {
  world_.OnDeath([rank = world_.rank()](const DeadSet& dead) {
    Tell(absl::StrCat("epoch ", dead.epoch, " ", rank, ": ", absl::StrJoin(dead.ranks, " ")));
  });
  WEFT_TRY(Prepare());
  Tell(absl::StrCat("up ", world_.rank(), " ", getpid()));
  for (bool last = false; !last;) {
    absl::Status round = Round(last);
    if (absl::IsUnavailable(round)) round = GoOn();
    if (!round.ok()) {
      Wrong(round.ToString());
      return round;
    }
  }
  std::string ended;
  for (const auto& [code, count] : ended_) {
    absl::StrAppend(&ended, " ", absl::StatusCodeToString(code), " ", count);
    if (code != absl::StatusCode::kOk && code != absl::StatusCode::kUnavailable) {
      Wrong(absl::StrCat("operations ended with ", absl::StatusCodeToString(code)));
    }
  }
  Tell(absl::StrCat("done ", world_.rank(), ": ", undisturbed_, " rounds,", ended));
  return absl::OkStatus();
}

}  // namespace
}  // namespace weft::testing

int main(int argc, char** argv) {
  signal(SIGUSR1, [](int) { weft::testing::told_to_stop = true; });
  const uint64_t rounds = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : UINT64_MAX;
  return weft::Main([rounds](weft::World& world) -> absl::Status {
    return weft::testing::Survivor(world, rounds).Run();
  });
}
