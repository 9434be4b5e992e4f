#include "weft/world.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/world/process.h"
#include "runtime/world/runtime.h"
#include "runtime/world/settings.h"
#include "weft/team.h"

namespace weft {
namespace {

// A bootstrap takes one join: a process joins once in its life.
std::atomic<bool> joined = false;

}  // namespace

absl::StatusOr<World> World::Join(const Options& options) {
  auto settings = ResolveSettings(options, [](const char* name) { return std::getenv(name); });
  if (!settings.ok()) return settings.status();
  if (internal::ForkGeneration() != 0) {
    return absl::FailedPreconditionError(
        "this process was forked from a rank and cannot join: start it as a program of its own");
  }
  if (joined.exchange(true)) {
    return absl::FailedPreconditionError(
        "this process has called World::Join before: a process joins a job once");
  }
  auto bootstrap = Discover();
  if (!bootstrap.ok()) return bootstrap.status();
  auto runtime = internal::Runtime::Join(*std::move(bootstrap), *settings);
  if (!runtime.ok()) return runtime.status();
  internal::OpenInlinePath((*runtime)->reach());
  return (*runtime)->MakeWorld();
}

World::World(Team team)
    : team_(std::move(team)), rank_(team_->runtime()->rank()), size_(team_->runtime()->size()) {}

World::World(World&& other) noexcept
    : team_(std::exchange(other.team_, std::nullopt)), rank_(other.rank_), size_(other.size_) {}

World& World::operator=(World&& other) noexcept {
  if (this != &other) {
    if (team_.has_value()) (void)Leave();
    team_ = std::exchange(other.team_, std::nullopt);
    rank_ = other.rank_;
    size_ = other.size_;
  }
  return *this;
}

World::~World() {
  if (team_.has_value()) (void)Leave();
}

absl::Status World::Leave() {
  if (!team_.has_value()) {
    return absl::FailedPreconditionError("this World was moved from");
  }
  const std::shared_ptr<internal::Runtime> runtime = team_->runtime();
  absl::Status left = runtime->Leave();
  if (runtime->Usable().ok()) return left;
  internal::CloseInlinePath(runtime.get());
  return left;
}

void World::Abort(int code, std::string_view message) {
  internal::Runtime* const runtime = internal::reach.runtime;
  if (code < 1 || code > 255) code = 1;
  if (runtime != nullptr && runtime->Usable().ok()) {
    runtime->Abort(code, message);
  } else if (!message.empty()) {
    std::fprintf(stderr, "weft: %s\n", std::string(message).c_str());
  }
  _exit(code);
}

DeadSet World::Dead() const { return team_->runtime()->Dead(); }
void World::OnDeath(std::function<void(const DeadSet&)> callback) {
  team_->runtime()->OnDeath(std::move(callback));
}
absl::Status World::Continue() { return team_->runtime()->Continue(); }
absl::StatusOr<std::span<const std::byte>> World::Salvage(Rank rank) const {
  return team_->runtime()->Salvage(rank);
}

Rank Team::size() const {
  const auto members = runtime_->members();
  return members == nullptr ? runtime_->size() : static_cast<Rank>(members->size());
}
TeamIndex Team::index() const {
  const auto members = runtime_->members();
  if (members == nullptr) return TeamIndex(runtime_->rank());
  const auto own = std::ranges::lower_bound(*members, runtime_->rank());
  return TeamIndex(static_cast<uint32_t>(own - members->begin()));
}
Rank Team::rank(TeamIndex member) const {
  const auto members = runtime_->members();
  return members == nullptr ? member.value() : (*members)[member.value()];
}
absl::Status Team::Barrier() const { return runtime_->Barrier(); }

}  // namespace weft
