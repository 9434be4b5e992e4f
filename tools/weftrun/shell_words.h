// Text for a shell to read. A pure function.
#ifndef WEFT_TOOLS_WEFTRUN_SHELL_WORDS_H_
#define WEFT_TOOLS_WEFTRUN_SHELL_WORDS_H_

#include <string>

namespace weft {

// `word` so that a shell reads it as this one word.
std::string ShellQuoted(const std::string& word);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_SHELL_WORDS_H_
