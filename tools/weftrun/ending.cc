#include "tools/weftrun/ending.h"

#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/weftrun/exit_status.h"

namespace weft {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kOwnEnd = 500 * kMillisecond;
constexpr int64_t kAfterTerm = 1000 * kMillisecond;
constexpr int64_t kAfterSignal = 5000 * kMillisecond;

}  // namespace

void Ending::RankFailed(int64_t now, int wait_status, std::string line) {
  if (signal_ != 0 && !decided_) {
    decided_ = true;
    if (!WIFSIGNALED(wait_status)) {
      code_ = ExitCode(wait_status);
      line_ = std::move(line);
    } else {
      code_ = kExitSignal + signal_;
      line_ = absl::StrCat("the job was ended by ", DescribeSignal(signal_));
    }
    return;
  }
  Failed(now, ExitCode(wait_status), std::move(line));
}

void Ending::Failed(int64_t now, int code, std::string line) {
  Begin(code, std::move(line), now + kOwnEnd, now + kOwnEnd + kAfterTerm);
}

void Ending::Explain(int code, std::string line) {
  code_ = code;
  line_ = std::move(line);
}

void Ending::Interrupted(int64_t now, int signal) {
  if (signal_ != 0) {
    kill_at_ = now;
    return;
  }
  signal_ = signal;
  begun_ = true;
  kill_at_ = std::min(kill_at_, now + kAfterSignal);
}

void Ending::CutShort(int64_t now, int code, std::string line) {
  Begin(code, std::move(line), now, now + kAfterTerm);
}

void Ending::Begin(int code, std::string line, int64_t terminate_at, int64_t kill_at) {
  if (decided_) return;
  decided_ = true;
  code_ = code;
  line_ = std::move(line);
  if (begun_) return;  // By a signal, which keeps its own time.
  begun_ = true;
  terminate_at_ = terminate_at;
  kill_at_ = kill_at;
}

Ending::Step Ending::Due(int64_t now) {
  if (now >= kill_at_) {
    kill_at_ = terminate_at_ = INT64_MAX;
    if (signal_ != 0 && !decided_) {
      decided_ = true;
      code_ = kExitSignal + signal_;
      line_ = absl::StrCat("the job was ended by ", DescribeSignal(signal_));
    }
    return Step::kKill;
  }
  if (now >= terminate_at_) {
    terminate_at_ = INT64_MAX;
    return Step::kTerminate;
  }
  return Step::kNothing;
}

Deadline Ending::next() const {
  return Deadline::AtMonotonicNanos(std::min(terminate_at_, kill_at_));
}

}  // namespace weft
