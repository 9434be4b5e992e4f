// Recognises other launchers by the environment that they give their processes.
#ifndef WEFT_RUNTIME_BOOTSTRAP_FOREIGN_LAUNCHER_H_
#define WEFT_RUNTIME_BOOTSTRAP_FOREIGN_LAUNCHER_H_

#include <functional>
#include <optional>
#include <string>

namespace weft {

// The value of an environment variable, or null.
using Environment = std::function<const char*(const char* name)>;

// The launcher that started this process as one of several, in words; nullopt
// when there is none, or when it started this process alone.
std::optional<std::string> ForeignLauncher(const Environment& environment);

}  // namespace weft
#endif  // WEFT_RUNTIME_BOOTSTRAP_FOREIGN_LAUNCHER_H_
