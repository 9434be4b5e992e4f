#include "examples/bfs/edge_list.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "examples/bfs/lines.h"
#include "examples/bfs/text_error.h"

namespace bfs {
namespace {

constexpr std::string_view kBlanks = " \t";

// Takes the next word off `rest`; empty at the end.
std::string_view TakeWord(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  return word;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

// What is wrong with a line that has no two ids; empty when nothing is.
std::string Fault(std::string_view line, std::string_view from, std::string_view to,
                  std::string_view rest) {
  if (to.empty()) return absl::StrCat("expected two vertex ids, found ", Quoted(from));
  if (!TakeWord(rest).empty()) {
    return absl::StrCat("expected two vertex ids and nothing else, found ", Quoted(line));
  }
  for (std::string_view id : {from, to}) {
    if (std::any_of(id.begin(), id.end(), IsControl)) {
      return absl::StrCat("expected text, found ", Quoted(id), ": is the file compressed?");
    }
  }
  return {};
}

}  // namespace

absl::StatusOr<NamedEdges> ParseEdgeList(std::string_view text, std::string_view file) {
  NamedEdges graph;
  for (Lines lines(text); lines.Next();) {
    std::string_view rest = lines.line();
    const std::string_view from = TakeWord(rest);
    if (from.empty() || from.starts_with('#') || from.starts_with('%')) continue;
    const std::string_view to = TakeWord(rest);
    if (std::string fault = Fault(lines.line(), from, to, rest); !fault.empty()) {
      return ErrorAtLine(file, lines.number(), fault);
    }
    const Edge edge = {graph.names.Intern(from), graph.names.Intern(to)};
    if (edge.from == kNoVertex || edge.to == kNoVertex) {
      return ErrorAtLine(file, lines.number(),
                         absl::StrCat("more than ", kNoVertex, " different vertex ids"));
    }
    graph.edges.push_back(edge);
  }
  return graph;
}

}  // namespace bfs
