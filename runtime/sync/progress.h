// What a blocked wait calls so that data keep moving: the Engine's Progress,
// where a transport needs this process's threads for that.
#ifndef WEFT_RUNTIME_SYNC_PROGRESS_H_
#define WEFT_RUNTIME_SYNC_PROGRESS_H_

#include <cstdint>
#include <functional>

namespace weft {

struct Progress {
  std::function<void()> step;    // Empty: nothing needs it. Any thread may call it.
  int64_t every_ns = INT64_MAX;  // A sleeper calls it at least this often.
};

}  // namespace weft
#endif  // WEFT_RUNTIME_SYNC_PROGRESS_H_
