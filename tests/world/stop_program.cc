// A rank of a job in which one rank is stopped for a while (SIGSTOP):
// stop_program WORK SEED. Rank 0 stops the last rank at a moment that the seed
// gives, and lets it go on when all others have been told that it is missing.
// Everybody then completes the very same call. WEFT_WAIT_DEADLINE is short.
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/world/rank_report.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace weft::testing {
namespace {

// What the ranks share, on rank 0.
struct Board {
  uint64_t victim_process;
  uint64_t stopped;     // Not 0 once the victim is.
  uint64_t told;        // How many ranks were told that it is missing.
  uint64_t last_round;  // Not 0 once it is known.
};

class StopJob {
 public:
  StopJob(World& world, std::string work, uint64_t seed)
      : world_(world), victim_(world.size() - 1), work_(std::move(work)), random_(seed) {}

  absl::Status Run();

 private:
  using Step = absl::Status (StopJob::*)();

  absl::Status DoBarrier() { return world_.Barrier(); }
  absl::Status DoCreate() { return Symmetric<uint64_t>::Create(world_, 100).status(); }
  absl::Status DoCreateCounter() { return NotificationCounter::Create(world_).status(); }
  absl::Status DoNotify() {
    if (!notified_) PostNotify(Right(), *arrived_);
    notified_ = true;
    WEFT_TRY(arrived_->Wait(1));
    notified_ = false;
    return absl::OkStatus();
  }
  absl::Status DoSignal() {
    const auto signal = words_->at(Right());
    if (!notified_) PostPut(words_->at(Right(), 8), 1, AddSignal(signal, 1));
    notified_ = true;
    WEFT_TRY(WaitSignal(words_->at(world_.rank()), round_));
    notified_ = false;
    return absl::OkStatus();
  }

  Rank Right() const { return (world_.rank() + 1) % world_.size(); }
  RemotePtr<uint64_t> Field(size_t offset) const { return board_->at(0).As<uint64_t>(offset); }
  uint64_t Read(size_t offset) const { return Fetch(Field(offset)).value_or(0); }
  // Whether `late` says that the victim alone is missing, or, where it was stopped on
  // its way in or out, nobody; waits name nobody.
  bool TellsOfTheVictim(const absl::Status& late) const {
    if (work_ == "notify" || work_ == "signal") return true;
    const std::string message(late.message());
    // Ranks that meet by messages name whom they wait for: where one is a call behind, because it
    // waits for the victim, that one.
    for (const std::string& text :
         {std::string("arrived by now"),
          absl::StrCat("1 of ", world_.size(), " ranks have not arrived: ", victim_, ";"),
          std::string("at least one has not arrived"), std::string("has not been told"),
          std::string("does not answer")}) {
      if (message.find(text) != std::string::npos) return true;
    }
    return false;
  }
  void Insist(Step step);
  void UseTheStopped();
  void StopAndContinue();

  World& world_;
  const Rank victim_;
  const std::string work_;
  std::mt19937_64 random_;
  std::optional<Symmetric<Board>> board_;
  std::optional<Symmetric<uint64_t>> words_;
  std::optional<NotificationCounter> arrived_;
  uint64_t round_ = 0;
  bool notified_ = false;
  bool told_ = false;
};

// Rank 0, between two rounds: lets the victim go on once all have been told.
void StopJob::StopAndContinue() {
  while (Read(offsetof(Board, told)) < world_.size() - 1) absl::SleepFor(absl::Milliseconds(1));
  kill(static_cast<pid_t>(Read(offsetof(Board, victim_process))), SIGCONT);
}

// It does not answer, and need not: rule 7.
void StopJob::UseTheStopped() {
  const auto word = words_->at(victim_, 16 + world_.rank());
  absl::Status status = Put(word, round_);
  status.Update(FetchAdd(word, 1).status());
  status.Update(Flush(victim_));
  const auto value = Get(word);
  if (!status.ok() || !value.ok() || *value != round_ + 1) {
    TellWrong(absl::StrCat("operations on a stopped rank: ", status.ToString()));
  }
}

// Makes one collective call until it is complete, however late.
void StopJob::Insist(Step step) {
  for (;;) {
    const absl::Status status = (this->*step)();
    if (status.ok()) return;
    if (!absl::IsDeadlineExceeded(status)) {
      TellWrong(status.ToString());
      World::Abort(1, "wrong");
    }
    const bool stopped = Read(offsetof(Board, stopped)) != 0;
    if (told_ || !stopped || world_.rank() == victim_ || !TellsOfTheVictim(status)) continue;
    told_ = true;
    UseTheStopped();
    Tell(absl::StrCat(world_.rank()), status.ToString());
    FetchAdd(Field(offsetof(Board, told)), 1).IgnoreError();
    if (world_.rank() == 0) StopAndContinue();
  }
}

absl::Status StopJob::Run() {
  const std::map<std::string, Step> steps = {{"barrier", &StopJob::DoBarrier},
                                             {"create", &StopJob::DoCreate},
                                             {"create_counter", &StopJob::DoCreateCounter},
                                             {"notify", &StopJob::DoNotify},
                                             {"signal", &StopJob::DoSignal}};
  const auto create = [&](auto make) {
    auto made = make();
    while (absl::IsDeadlineExceeded(made.status())) made = make();
    return made;
  };
  board_.emplace(WEFT_TRY(create([&] { return Symmetric<Board>::Create(world_); })));
  words_.emplace(WEFT_TRY(create([&] { return Symmetric<uint64_t>::Create(world_, 64); })));
  arrived_.emplace(WEFT_TRY(create([&] { return NotificationCounter::Create(world_); })));
  if (world_.rank() == victim_) {
    WEFT_TRY(Set(Field(offsetof(Board, victim_process)), static_cast<uint64_t>(getpid())));
  }
  Insist(&StopJob::DoBarrier);

  const int64_t stop_at =
      absl::GetCurrentTimeNanos() + std::uniform_int_distribution<int64_t>(0, 10'000'000)(random_);
  bool stopped = false;
  for (uint64_t last = 0; last == 0 || round_ < last; last = Read(offsetof(Board, last_round))) {
    ++round_;
    if (world_.rank() == 0 && !stopped && absl::GetCurrentTimeNanos() >= stop_at) {
      stopped = true;
      // Nobody can be two rounds ahead of this one.
      WEFT_TRY(Set(Field(offsetof(Board, last_round)), round_ + 10));
      kill(static_cast<pid_t>(Read(offsetof(Board, victim_process))), SIGSTOP);
      WEFT_TRY(Set(Field(offsetof(Board, stopped)), uint64_t{1}));
    }
    Insist(steps.at(work_));
  }
  Insist(&StopJob::DoBarrier);
  Tell("done", absl::StrCat("rank ", world_.rank(), " after round ", round_));
  return absl::OkStatus();
}

}  // namespace
}  // namespace weft::testing

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto world = weft::World::Join({});
  if (!world.ok()) {
    weft::testing::TellWrong(world.status().ToString());
    return 1;
  }
  weft::testing::StopJob job(*world, argv[1], std::strtoull(argv[2], nullptr, 10));
  const absl::Status status = job.Run();
  if (!status.ok()) weft::testing::TellWrong(status.ToString());
  // Late or not, it has left.
  world->Leave().IgnoreError();
  return status.ok() ? 0 : 1;
}
