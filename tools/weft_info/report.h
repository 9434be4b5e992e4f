// What weft-info has found out: facts as one document, with the names and the order in
// which they are shown, and what is wrong. Plain data; one thread.
#ifndef WEFT_TOOLS_WEFT_INFO_REPORT_H_
#define WEFT_TOOLS_WEFT_INFO_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"

namespace weft {

using Document = nlohmann::ordered_json;

struct Report {
  Document facts = Document::object();
  Document problems = Document::array();

  void AddProblem(absl::string_view what) { problems.push_back(std::string(what)); }

  // What is not UTF-8, as a file's name or a variable may be, is replaced.
  std::string ToJsonText() const {
    Document all = facts;
    all["problems"] = problems;
    return all.dump(2, ' ', false, Document::error_handler_t::replace) + "\n";
  }
  // For people: names and values, indented. Names are without underscores, and what ends in
  // _bytes is shown as a size.
  std::string ToText() const;
};

}  // namespace weft
#endif  // WEFT_TOOLS_WEFT_INFO_REPORT_H_
