#include "tests/support/local_job.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/job_secret.h"
#include "runtime/memory/node_memory.h"
#include "runtime/world/runtime.h"

namespace weft::testing {

class LocalJob::Shared {
 public:
  Shared(Rank size, const MemoryShape& shape) : size_(size) {
    auto authority = NodeAuthority::Create(size, shape);
    EXPECT_TRUE(authority.ok()) << authority.status();
    absl::MutexLock lock(&lock_);
    if (authority.ok()) authority_ = *std::move(authority);
  }

  absl::StatusOr<NodeFds> Duplicate() {
    absl::MutexLock lock(&lock_);
    return authority_->Duplicate();
  }
  absl::Status Put(std::string_view key, std::string_view value) {
    absl::MutexLock lock(&lock_);
    if (!values_.emplace(key, value).second) return absl::AlreadyExistsError(std::string(key));
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Get(std::string_view key) {
    absl::MutexLock lock(&lock_);
    const auto found = values_.find(std::string(key));
    if (found == values_.end()) return absl::NotFoundError(std::string(key));
    return found->second;
  }
  absl::Status Fence() {
    absl::MutexLock lock(&lock_);
    const uint64_t mine = ++arrivals_;
    const uint64_t needed = (mine + size_ - 1) / size_ * size_;
    auto complete = [this, needed] { return arrivals_ >= needed; };
    lock_.Await(absl::Condition(&complete));
    return absl::OkStatus();
  }
  void MarkLeft(Rank rank) {
    absl::MutexLock lock(&lock_);
    authority_->MarkLeft(rank);
  }
  void MarkDead(Rank rank, int wait_status) {
    absl::MutexLock lock(&lock_);
    authority_->MarkDead(rank, wait_status);
  }

  const JobSecret& secret() const { return secret_; }

 private:
  const Rank size_;
  const JobSecret secret_ = MakeJobSecret();
  absl::Mutex lock_;
  std::optional<NodeAuthority> authority_ ABSL_GUARDED_BY(lock_);
  std::map<std::string, std::string> values_ ABSL_GUARDED_BY(lock_);
  uint64_t arrivals_ ABSL_GUARDED_BY(lock_) = 0;
};

class LocalJob::RankBootstrap : public Bootstrap {
 public:
  RankBootstrap(Shared& shared, Rank rank, Rank size) : shared_(shared), rank_(rank), size_(size) {}

  Rank rank() const override { return rank_; }
  Rank size() const override { return size_; }
  std::string_view source() const override { return "threads"; }
  const JobSecret& secret() const override { return shared_.secret(); }
  absl::StatusOr<std::optional<NodeFds>> ShareMemory(const MemoryShape&, Deadline) override {
    auto fds = shared_.Duplicate();
    if (!fds.ok()) return fds.status();
    return std::optional<NodeFds>(*std::move(fds));
  }
  absl::Status Put(std::string_view key, std::string_view value) override {
    return shared_.Put(key, value);
  }
  absl::StatusOr<std::string> Get(std::string_view key, Deadline) override {
    return shared_.Get(key);
  }
  absl::Status Fence(Deadline) override { return shared_.Fence(); }
  absl::Status Leave() override {
    shared_.MarkLeft(rank_);
    return absl::OkStatus();
  }
  void Abort(int code, std::string_view message) override {
    ADD_FAILURE() << "rank " << rank_ << " aborts with " << code << ": " << message;
  }
  std::optional<Rank> NextDeath() override { return std::nullopt; }

 private:
  Shared& shared_;
  const Rank rank_;
  const Rank size_;
};

LocalJob::LocalJob(Rank size, const World::Options& options, std::optional<uint64_t> fault_seed)
    : size_(size),
      settings_([&] {
        auto settings = ResolveSettings(options, [](const char*) { return nullptr; });
        EXPECT_TRUE(settings.ok()) << settings.status();
        return *settings;
      }()),
      shared_(std::make_unique<Shared>(size, settings_.shape)) {
  settings_.fault_seed = fault_seed;
}

LocalJob::~LocalJob() = default;

void LocalJob::Run(const std::function<void(World&)>& body) {
  std::vector<std::thread> ranks;
  for (Rank r = 0; r < size_; ++r) {
    ranks.emplace_back([&, r] {
      auto runtime =
          internal::Runtime::Join(std::make_unique<RankBootstrap>(*shared_, r, size_), settings_);
      ASSERT_TRUE(runtime.ok()) << "rank " << r << ": " << runtime.status();
      World world = (*runtime)->MakeWorld();
      body(world);
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

void LocalJob::MarkDead(Rank rank, int wait_status) { shared_->MarkDead(rank, wait_status); }

}  // namespace weft::testing
