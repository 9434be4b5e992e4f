#include "examples/bfs/text_error.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace bfs {
namespace {

constexpr size_t kLongestQuote = 60;

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

}  // namespace

absl::Status ErrorAtLine(std::string_view file, size_t line, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(View(file), ":", line, ": ", View(what)));
}

std::string Quoted(std::string_view text) {
  const bool cut = text.size() > kLongestQuote;
  return absl::StrCat("\"", absl::CHexEscape(View(text.substr(0, kLongestQuote))),
                      cut ? "...\"" : "\"");
}

}  // namespace bfs
