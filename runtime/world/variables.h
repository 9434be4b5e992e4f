// The environment variables that settings are made of, and what they mean: for those who
// show them. runtime/world/settings.h reads them. Constant data; any thread.
#ifndef WEFT_RUNTIME_WORLD_VARIABLES_H_
#define WEFT_RUNTIME_WORLD_VARIABLES_H_

#include <span>

namespace weft {

struct Variable {
  const char* name;
  const char* fallback;  // What holds where it is not set.
  const char* help;
};

std::span<const Variable> Variables();

}  // namespace weft
#endif  // WEFT_RUNTIME_WORLD_VARIABLES_H_
