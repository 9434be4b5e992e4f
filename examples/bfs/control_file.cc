#include "examples/bfs/control_file.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/bfs/lines.h"
#include "examples/bfs/text_error.h"

namespace bfs {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// One relationship field, read from left to right.
class Relations {
 public:
  Relations(const ControlField& field, std::string_view file)
      : field_(field), file_(file), rest_(field.value) {}

  absl::StatusOr<std::vector<std::string_view>> Parse() {
    std::vector<std::string_view> names;
    for (SkipBlanks(); !rest_.empty(); SkipBlanks()) {
      if (Take(',')) continue;  // An empty one, as behind the last comma.
      do {
        SkipBlanks();
        const std::string_view name = TakeName();
        if (name.empty()) return Error("expected the name of a package");
        names.push_back(name);
        if (Take(':') && TakeName().empty()) return Error("expected an architecture behind ':'");
        for (SkipBlanks(); !rest_.empty() && Closing(rest_.front()) != 0; SkipBlanks()) {
          if (!TakeBracketed()) return Error("no closing bracket");
        }
      } while (Take('|'));
      if (!rest_.empty() && !Take(',')) return Error("expected ',' or '|'");
    }
    return names;
  }

 private:
  static char Closing(char opening) {
    return opening == '(' ? ')' : opening == '[' ? ']' : opening == '<' ? '>' : 0;
  }

  void SkipBlanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
  }

  bool Take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view TakeName() {
    const std::string_view name = rest_.substr(0, rest_.find_first_of(" \t\r\n,|:()[]<>"));
    rest_.remove_prefix(name.size());
    return name;
  }

  bool TakeBracketed() {
    const size_t end = rest_.find(Closing(rest_.front()));
    if (end == std::string_view::npos) return false;
    rest_.remove_prefix(end + 1);
    return true;
  }

  absl::Status Error(std::string_view what) const {
    const std::string_view read = field_.value.substr(0, field_.value.size() - rest_.size());
    return ErrorAtLine(
        file_, field_.line + std::count(read.begin(), read.end(), '\n'),
        absl::StrCat(absl::string_view(what.data(), what.size()), " at ", Quoted(rest_)));
  }

  const ControlField& field_;
  const std::string_view file_;
  std::string_view rest_;
};

}  // namespace

bool ControlField::Is(std::string_view other) const {
  return absl::EqualsIgnoreCase({name.data(), name.size()}, {other.data(), other.size()});
}

absl::Status ForEachStanza(std::string_view text, std::string_view file,
                           absl::FunctionRef<absl::Status(std::span<const ControlField>)> use) {
  std::vector<ControlField> stanza;
  for (Lines lines(text); lines.Next();) {
    const std::string_view line = lines.line();
    if (Trimmed(line).empty()) {
      if (stanza.empty()) continue;
      if (absl::Status status = use(stanza); !status.ok()) return status;
      stanza.clear();
    } else if (kBlanks.find(line.front()) != std::string_view::npos) {
      if (stanza.empty()) {
        return ErrorAtLine(file, lines.number(), "a continuation line that continues nothing");
      }
      std::string_view& value = stanza.back().value;
      value = {value.data(), static_cast<size_t>(line.data() + line.size() - value.data())};
    } else {
      const size_t colon = line.find(':');
      if (colon == std::string_view::npos || colon == 0) {
        return ErrorAtLine(file, lines.number(),
                           absl::StrCat("expected \"Field: value\", found ", Quoted(line)));
      }
      stanza.push_back({line.substr(0, colon), line.substr(colon + 1), lines.number()});
    }
  }
  return stanza.empty() ? absl::OkStatus() : use(stanza);
}

absl::StatusOr<std::vector<std::string_view>> ParsePackageNames(const ControlField& field,
                                                                std::string_view file) {
  return Relations(field, file).Parse();
}

}  // namespace bfs
