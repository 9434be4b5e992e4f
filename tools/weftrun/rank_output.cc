#include "tools/weftrun/rank_output.h"

#include <sys/epoll.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// So much may wait for the stream before the ranks have to.
constexpr size_t kHighWater = 256 * 1024;
constexpr size_t kLowWater = 64 * 1024;

}  // namespace

RankOutput::RankOutput(bool tag, int stream, EventLoop& loop, std::function<void(bool)> listen)
    : tag_(tag), writer_(stream), loop_(loop), listen_(std::move(listen)) {}

void RankOutput::Deliver(Rank rank, std::string_view text) {
  if (!tag_) {
    writer_.Append(text);
    Flush();
    return;
  }
  const std::string tag = absl::StrCat("[", rank, "] ");
  while (!text.empty()) {
    if (within_line_.erase(rank) == 0) writer_.Append(tag);
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) within_line_.insert(rank);
    const size_t length = end == std::string_view::npos ? text.size() : end + 1;
    writer_.Append(text.substr(0, length));
    text.remove_prefix(length);
  }
  Flush();
}

void RankOutput::Flush() {
  writer_.Flush();
  const bool wait = writer_.pending() > 0;
  if (wait != waiting_for_room_) {
    waiting_for_room_ = wait;
    if (wait) {
      // Of what always has room (a file) nothing is ever pending.
      loop_.Add(writer_.fd(), EPOLLOUT, [this](uint32_t) { Flush(); }).IgnoreError();
    } else {
      loop_.Remove(writer_.fd());
    }
  }
  const bool full = writer_.pending() > (full_ ? kLowWater : kHighWater);
  if (full == full_) return;
  full_ = full;
  listen_(!full);
}

}  // namespace weft
