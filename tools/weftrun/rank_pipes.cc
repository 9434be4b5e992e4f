#include "tools/weftrun/rank_pipes.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <utility>

namespace weft {
namespace {

constexpr size_t kMaxPartial = 64 * 1024;

}  // namespace

RankPipes::RankPipes(std::vector<Rank> ranks, std::vector<UniqueFd> pipes, bool whole_lines,
                     Sink sink)
    : whole_lines_(whole_lines), sink_(std::move(sink)), sources_(pipes.size()) {
  for (size_t i = 0; i < pipes.size(); ++i) {
    sources_[i].rank = ranks[i];
    sources_[i].pipe = std::move(pipes[i]);
  }
}

absl::Status RankPipes::Start(EventLoop& loop) {
  loop_ = &loop;
  for (Source& source : sources_) {
    absl::Status watched =
        group_.Add(source.pipe.get(), EPOLLIN, [this, &source](uint32_t) { Read(source); });
    if (!watched.ok()) return watched;
  }
  Listen(true);
  return absl::OkStatus();
}

void RankPipes::Listen(bool listen) {
  if (listen == listening_ || finished_ || loop_ == nullptr) return;
  listening_ = listen;
  if (listen) {
    loop_
        ->Add(group_.fd(), EPOLLIN,
              [this](uint32_t) { group_.RunOnce(Deadline::AtMonotonicNanos(0)); })
        .IgnoreError();  // Removed a moment ago, so there is room for it.
  } else {
    loop_->Remove(group_.fd());
  }
}

bool RankPipes::Read(Source& source) {
  char buffer[kMaxPartial];
  const ssize_t length = read(source.pipe.get(), buffer, sizeof(buffer));
  if (length > 0) {
    Take(source, std::string_view(buffer, static_cast<size_t>(length)));
    return true;
  }
  if (length < 0 && errno == EINTR) return true;
  if (length < 0 && errno == EAGAIN) return false;
  HandOnPartial(source);
  group_.Remove(source.pipe.get());
  source.pipe.reset();
  return false;
}

void RankPipes::Take(Source& source, std::string_view text) {
  const size_t whole = whole_lines_ ? text.rfind('\n') + 1 : text.size();
  if (whole > 0) {
    source.partial.append(text.substr(0, whole));
    HandOnPartial(source);
    text.remove_prefix(whole);
  }
  source.partial.append(text);
  if (source.partial.size() > kMaxPartial) HandOnPartial(source);
}

void RankPipes::HandOnPartial(Source& source) {
  if (!source.partial.empty()) sink_(source.rank, std::exchange(source.partial, {}));
}

void RankPipes::Finish() {
  for (Source& source : sources_) {
    while (source.pipe && Read(source)) {
    }
    if (!source.pipe) continue;
    // A process that we could not end has it open still.
    HandOnPartial(source);
    group_.Remove(source.pipe.get());
    source.pipe.reset();
  }
  Listen(false);
  finished_ = true;
}

}  // namespace weft
