// The launcher's standard input on its way to a rank on another host: reads no
// further ahead than a window. Used by one thread.
#ifndef WEFT_TOOLS_WEFTRUN_INPUT_SOURCE_H_
#define WEFT_TOOLS_WEFTRUN_INPUT_SOURCE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/base/unique_fd.h"
#include "tools/weftrun/event_loop.h"

namespace weft {

class InputSource {
 public:
  // `send` gets what is read; nothing: its end. `loop` must outlive this.
  InputSource(UniqueFd input, EventLoop& loop, std::function<void(std::string text)> send);
  ~InputSource() { Watch(false); }

  // Reads, as far as the window goes.
  void Start();
  // So many bytes are out of the way.
  void Taken(uint64_t bytes);

 private:
  bool HasRoom() const;
  // False when there is nothing more to read, now or for ever.
  bool Read();
  void Watch(bool watch);

  UniqueFd input_;
  EventLoop& loop_;
  const std::function<void(std::string)> send_;
  bool always_ready_ = false;  // A file, which cannot be waited for.
  bool watching_ = false;
  uint64_t under_way_ = 0;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_INPUT_SOURCE_H_
