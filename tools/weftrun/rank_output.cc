#include "tools/weftrun/rank_output.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr size_t kMaxPartial = 64 * 1024;
// So much may wait for the stream before the ranks have to.
constexpr size_t kHighWater = 256 * 1024;
constexpr size_t kLowWater = 64 * 1024;

}  // namespace

RankOutput::RankOutput(std::vector<UniqueFd> pipes, bool tag, int stream)
    : tag_(tag), writer_(stream), sources_(pipes.size()) {
  for (size_t i = 0; i < pipes.size(); ++i) sources_[i].pipe = std::move(pipes[i]);
}

absl::Status RankOutput::Start(EventLoop& loop) {
  loop_ = &loop;
  for (Rank rank = 0; rank < sources_.size(); ++rank) {
    absl::Status watched =
        group_.Add(sources_[rank].pipe.get(), EPOLLIN, [this, rank](uint32_t) { Read(rank); });
    if (!watched.ok()) return watched;
  }
  Listen(true);
  return absl::OkStatus();
}

void RankOutput::Listen(bool listen) {
  if (listen == listening_ || finished_) return;
  listening_ = listen;
  if (listen) {
    loop_
        ->Add(group_.fd(), EPOLLIN,
              [this](uint32_t) {
                group_.RunOnce(Deadline::AtMonotonicNanos(0));
                Flush();
              })
        .IgnoreError();  // Removed a moment ago, so there is room for it.
  } else {
    loop_->Remove(group_.fd());
  }
}

void RankOutput::Read(Rank rank) {
  Source& source = sources_[rank];
  char buffer[kMaxPartial];
  const ssize_t length = read(source.pipe.get(), buffer, sizeof(buffer));
  if (length > 0) {
    Take(rank, std::string_view(buffer, static_cast<size_t>(length)));
  } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
    if (!source.partial.empty()) Emit(rank, std::exchange(source.partial, {}));
    group_.Remove(source.pipe.get());
    source.pipe.reset();
  }
}

void RankOutput::Take(Rank rank, std::string_view text) {
  Source& source = sources_[rank];
  // One rank's output alone cannot be torn: a prompt shows at once.
  const size_t whole = sources_.size() == 1 ? text.size() : text.rfind('\n') + 1;
  if (whole > 0) {
    source.partial.append(text.substr(0, whole));
    Emit(rank, std::exchange(source.partial, {}));
    text.remove_prefix(whole);
  }
  source.partial.append(text);
  if (source.partial.size() > kMaxPartial) Emit(rank, std::exchange(source.partial, {}));
}

void RankOutput::Emit(Rank rank, std::string_view text) {
  if (!tag_) {
    writer_.Append(text);
    return;
  }
  bool& at_line_start = sources_[rank].at_line_start;
  const std::string tag = absl::StrCat("[", rank, "] ");
  while (!text.empty()) {
    if (at_line_start) writer_.Append(tag);
    const size_t end = text.find('\n');
    at_line_start = end != std::string_view::npos;
    const size_t length = at_line_start ? end + 1 : text.size();
    writer_.Append(text.substr(0, length));
    text.remove_prefix(length);
  }
}

void RankOutput::Flush() {
  writer_.Flush();
  if (loop_ == nullptr) return;
  const bool wait = writer_.pending() > 0;
  if (wait != waiting_for_room_) {
    waiting_for_room_ = wait;
    if (wait) {
      // Of what always has room (a file) nothing is ever pending.
      loop_->Add(writer_.fd(), EPOLLOUT, [this](uint32_t) { Flush(); }).IgnoreError();
    } else {
      loop_->Remove(writer_.fd());
    }
  }
  if (writer_.pending() > kHighWater) Listen(false);
  if (writer_.pending() < kLowWater) Listen(true);
}

void RankOutput::Finish() {
  for (Rank rank = 0; rank < sources_.size(); ++rank) {
    while (sources_[rank].pipe) {
      char buffer[kMaxPartial];
      const ssize_t length = read(sources_[rank].pipe.get(), buffer, sizeof(buffer));
      if (length > 0) {
        Take(rank, std::string_view(buffer, static_cast<size_t>(length)));
      } else if (length == 0 || errno != EINTR) {
        if (!sources_[rank].partial.empty()) Emit(rank, std::exchange(sources_[rank].partial, {}));
        group_.Remove(sources_[rank].pipe.get());
        sources_[rank].pipe.reset();
      }
    }
  }
  Listen(false);
  finished_ = true;
  Flush();
}

}  // namespace weft
