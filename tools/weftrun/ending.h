// How a job ends: which of the things that go wrong decides the exit status and
// the last line, when the ranks that are left are asked to end, and when they
// are killed. Pure logic on times that the caller passes in; not thread-safe.
#ifndef WEFT_TOOLS_WEFTRUN_ENDING_H_
#define WEFT_TOOLS_WEFTRUN_ENDING_H_

#include <cstdint>
#include <string>

#include "runtime/base/deadline.h"

namespace weft {

class Ending {
 public:
  enum class Step : uint8_t { kNothing, kTerminate, kKill };

  // A rank failed with `status` (as of waitpid); `line` says so. The others have
  // half a second to end by themselves, 1 s more after SIGTERM. After a user's
  // signal it is that which ends the job, and a rank that it killed is no news.
  void RankFailed(int64_t now, int wait_status, std::string line);
  // A rank failed in another way, or wants the job to end with `code`.
  void Failed(int64_t now, int code, std::string line);
  // A better word for the failure that was reported.
  void Explain(int code, std::string line);
  // The user sent a signal, which has been passed on: 5 s; at the second one, at once.
  void Interrupted(int64_t now, int signal);
  // The job must not go on: SIGTERM at once, 1 s.
  void CutShort(int64_t now, int code, std::string line);

  bool begun() const { return begun_; }
  // `code` and `line` below are known; only Explain changes them.
  bool decided() const { return decided_; }
  // What is due; each step once.
  Step Due(int64_t now);
  // When the next step is.
  Deadline next() const;

  // What the job has ended with, once all ranks have. No line: nothing to say.
  int code() const { return code_; }
  const std::string& line() const { return line_; }

 private:
  void Begin(int code, std::string line, int64_t terminate_at, int64_t kill_at);

  bool begun_ = false;
  bool decided_ = false;  // `code_` and `line_` are the last word.
  int signal_ = 0;        // The user's first.
  int code_ = 0;
  std::string line_;
  int64_t terminate_at_ = INT64_MAX;
  int64_t kill_at_ = INT64_MAX;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_ENDING_H_
