// A rank of a job in which one rank is killed: death_program WORK VICTIM SEED.
//
// All ranks do the same work in a loop; the victim kills itself, from a thread of
// its own, at a moment that the seed gives. Each survivor tells what its work
// ended with, checks what a program may do afterwards, and leaves.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/world/rank_report.h"
#include "weft/try.h"
#include "weft/weft.h"

namespace weft::testing {
namespace {

constexpr size_t kWords = 64 * 1024;

class DeathJob {
 public:
  DeathJob(std::string work, Rank victim, uint64_t seed)
      : work_(std::move(work)),
        victim_(victim),
        is_victim_(std::to_string(victim) == std::getenv("WEFT_RANK")),
        random_(seed * 1000 + std::strtoul(std::getenv("WEFT_RANK"), nullptr, 10)) {}

  int Run();

 private:
  using Step = absl::Status (DeathJob::*)();
  struct Objects {
    Symmetric<uint64_t> words;
    NotificationCounter arrived;
  };

  absl::StatusOr<Objects> Prepare();
  int RunJoin();
  int RunLeave(World& world);
  void CheckAfterwards(World& world);
  absl::Duration Below(absl::Duration bound) {
    return bound * std::uniform_real_distribution<double>(0, 1)(random_);
  }
  // Ends this process by SIGKILL after up to `bound`.
  void DieWithin(absl::Duration bound);
  Rank Right() const { return (world_->rank() + 1) % world_->size(); }
  // The target of operations: the victim, and for the victim somebody else.
  RemotePtr<uint64_t> Target(size_t index = 0) {
    return objects_->words.at(is_victim_ ? Right() : victim_, index);
  }
  // A flush at each so many calls.
  absl::Status FlushEvery(int times) { return ++calls_ % times == 0 ? Flush() : absl::OkStatus(); }

  absl::Status DoPut() { return Put(Target(), calls_++); }
  absl::Status DoGet() { return Get(Target()).status(); }
  absl::Status DoPostPut() {
    PostPut(Target(), 7);
    PostPut(Target(8), std::span<const uint64_t>(block_).first(100));
    return FlushEvery(50);
  }
  absl::Status DoSpans() {
    WEFT_TRY(Put(Target(), block_));
    return Get(Target(), block_);
  }
  absl::Status DoAtomic() { return FetchAdd(Target(1), 1).status(); }
  absl::Status DoAsync() {
    Future<uint64_t> add = AsyncFetchAdd(Target(1), 1);
    Future<uint64_t> get = AsyncGet(Target(2));
    Future<> put = AsyncPut(Target(3), 4);
    WEFT_TRY(add.Wait());
    WEFT_TRY(get.Wait());
    return put.Wait();
  }
  absl::Status DoNotify() {
    PostPut(objects_->words.at(Right()), 5, objects_->arrived);
    return objects_->arrived.Wait(1);
  }
  absl::Status DoSignal() {
    PostPut(objects_->words.at(Right()), 5, AddSignal(objects_->words.at(Right(), 64), 1));
    return WaitSignal(objects_->words.at(world_->rank(), 64), ++calls_);
  }
  absl::Status DoBarrier() { return world_->Barrier(); }
  absl::Status DoAllocate() {
    const auto block = WEFT_TRY(Allocate<uint64_t>(1 + calls_ % 1000));
    PostPut(Target(), block.bits());
    WEFT_TRY(Free(block));
    return FlushEvery(20);
  }
  absl::Status DoCreate() {
    return Symmetric<uint64_t>::Create(*world_, 1 + ++calls_ % 5).status();
  }
  absl::Status DoCreateCounter() { return NotificationCounter::Create(*world_).status(); }

  const std::string work_;
  const Rank victim_;
  const bool is_victim_;
  std::mt19937_64 random_;
  World* world_ = nullptr;
  Objects* objects_ = nullptr;
  uint64_t calls_ = 0;
  std::vector<uint64_t> block_ = std::vector<uint64_t>(kWords);
};

void DeathJob::DieWithin(absl::Duration bound) {
  std::thread([moment = Below(bound)] {
    absl::SleepFor(moment);
    Tell("victim", "dies");
    kill(getpid(), SIGKILL);
  }).detach();
}

absl::StatusOr<DeathJob::Objects> DeathJob::Prepare() {
  auto words = WEFT_TRY(Symmetric<uint64_t>::Create(*world_, kWords));
  auto arrived = WEFT_TRY(NotificationCounter::Create(*world_));
  WEFT_TRY(world_->Barrier());
  return Objects{std::move(words), std::move(arrived)};
}

void DeathJob::CheckAfterwards(World& world) {
  // It is for good, for every kind of call.
  const std::map<std::string, absl::Status> results = {
      {"Put", Put(Target(), 1)},
      {"Get", Get(Target()).status()},
      {"FetchAdd", FetchAdd(Target(), 1).status()},
      {"AsyncPut", AsyncPut(Target(), 1).Wait()},
      {"Flush of the victim", Flush(victim_)},
      {"Flush", Flush()},
      {"Barrier", world.Barrier()},
      {"Create", Symmetric<int>::Create(world).status()},
  };
  for (const auto& [call, status] : results) {
    if (!NamesTheKilled(status, victim_)) {
      TellWrong(absl::StrCat(call, " after the death: ", status.ToString()));
    }
  }
  // The others are reached as before.
  for (Rank rank = 0; rank < world.size(); ++rank) {
    if (rank == victim_) continue;
    const auto word = objects_->words.at(rank, 100 + world.rank());
    absl::Status status = Put(word, 77);
    status.Update(Flush(rank));
    const auto value = Get(word);
    if (!status.ok() || !value.ok() || *value != 77) {
      TellWrong(absl::StrCat("rank ", rank, " after the death: ", status.ToString(), ", ",
                             value.status().ToString()));
    }
  }
}

int DeathJob::RunJoin() {
  if (is_victim_) DieWithin(absl::Milliseconds(15));
  absl::SleepFor(Below(absl::Milliseconds(8)));
  auto world = World::Join({});
  absl::Status status = world.status();
  while (status.ok()) status = world->Barrier();
  Tell(std::getenv("WEFT_RANK"), status.ToString());
  return 0;
}

int DeathJob::RunLeave(World& world) {
  if (is_victim_) DieWithin(absl::Milliseconds(5));
  absl::SleepFor(Below(absl::Milliseconds(4)));
  const absl::Status left = world.Leave();
  // Outlives its membership, so that it dies in any case.
  if (is_victim_) pause();
  Tell(std::getenv("WEFT_RANK"), left.ToString());
  return 0;
}

int DeathJob::Run() {
  // weftrun asks the survivors to end after half a second, which a busy machine
  // may need.
  signal(SIGTERM, SIG_IGN);
  if (work_ == "join") return RunJoin();
  const std::map<std::string, Step> steps = {
      {"put", &DeathJob::DoPut},          {"get", &DeathJob::DoGet},
      {"post_put", &DeathJob::DoPostPut}, {"spans", &DeathJob::DoSpans},
      {"atomic", &DeathJob::DoAtomic},    {"async", &DeathJob::DoAsync},
      {"notify", &DeathJob::DoNotify},    {"signal", &DeathJob::DoSignal},
      {"barrier", &DeathJob::DoBarrier},  {"allocate", &DeathJob::DoAllocate},
      {"create", &DeathJob::DoCreate},    {"create_counter", &DeathJob::DoCreateCounter},
  };
  auto world = World::Join({});
  if (!world.ok()) {
    TellWrong(world.status().ToString());
    return 1;
  }
  world_ = &*world;
  auto objects = Prepare();
  if (!objects.ok()) {
    TellWrong(objects.status().ToString());
    return 1;
  }
  objects_ = &*objects;
  if (work_ == "leave") return RunLeave(*world);

  if (is_victim_) DieWithin(absl::Milliseconds(20));
  const Step step = steps.at(work_);
  absl::Status status;
  while (status.ok()) status = (this->*step)();
  if (is_victim_) pause();  // It is told of nobody's death but waits for its own.
  Tell(std::getenv("WEFT_RANK"), status.ToString());
  CheckAfterwards(*world);
  const absl::Status left = world->Leave();
  if (!NamesTheKilled(left, victim_)) {
    TellWrong(absl::StrCat("Leave after the death: ", left.ToString()));
  }
  return 0;
}

}  // namespace
}  // namespace weft::testing

int main(int argc, char** argv) {
  if (argc != 4 || std::getenv("WEFT_RANK") == nullptr) return 2;
  weft::testing::DeathJob job(argv[1], static_cast<weft::Rank>(std::atoi(argv[2])),
                              std::strtoull(argv[3], nullptr, 10));
  return job.Run();
}
