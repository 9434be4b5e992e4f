// The command lines of the examples: "--name value" or "--name=value", and
// "--name" alone for flags. Used once, by one thread, before anything else.
#ifndef WEFT_EXAMPLES_OPTIONS_H_
#define WEFT_EXAMPLES_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"

namespace examples {

class OptionParser {
 public:
  // Each `value` must outlive the parser, holds the default, and is set by Parse.
  void AddText(std::string_view name, std::string* value);
  void AddFlag(std::string_view name, bool* value);
  // A whole number of at least `at_least`; K, M or G behind it multiply by 1024,
  // 1024^2, 1024^3.
  void AddNumber(std::string_view name, uint64_t* value, uint64_t at_least);

  // kInvalidArgument says what is wrong with which argument.
  absl::Status Parse(int argc, const char* const* argv) const;

 private:
  struct Number {
    uint64_t* value;
    uint64_t at_least;
  };
  struct Option {
    std::string_view name;
    std::variant<std::string*, bool*, Number> target;
  };

  const Option* Find(std::string_view name) const;

  std::vector<Option> options_;
};

}  // namespace examples
#endif  // WEFT_EXAMPLES_OPTIONS_H_
