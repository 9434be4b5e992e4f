#include "tools/weft_info/report.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace weft {
namespace {

std::string Size(uint64_t bytes) {
  static constexpr struct {
    int shift;
    const char* unit;
  } kUnits[] = {{60, "EiB"}, {50, "PiB"}, {40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}};
  for (const auto& [shift, unit] : kUnits) {
    if (bytes >> shift == 0) continue;
    return absl::StrFormat("%.4g %s", std::ldexp(static_cast<double>(bytes), -shift), unit);
  }
  return absl::StrCat(bytes, " bytes");
}

// Options keep their names.
std::string Shown(absl::string_view name) {
  if (absl::StartsWith(name, "WEFT_")) return std::string(name);
  absl::ConsumeSuffix(&name, "_bytes");
  return absl::StrReplaceAll(name, {{"_", " "}});
}

std::string Scalar(const Document& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_null()) return "-";
  return value.dump();
}

void Append(const Document& value, const std::string& indent, std::string& text) {
  for (const auto& [name, item] : value.items()) {
    if (value.is_array()) {
      if (!item.is_structured()) {
        absl::StrAppend(&text, indent, "- ", Scalar(item), "\n");
        continue;
      }
      // The first line of an item has a dash in its indentation.
      std::string inner;
      Append(item, absl::StrCat(indent, "  "), inner);
      if (!inner.empty()) inner[indent.size()] = '-';
      text += inner;
    } else if (!item.is_structured()) {
      const bool size = absl::EndsWith(name, "_bytes") && item.is_number_unsigned();
      absl::StrAppend(&text, indent, Shown(name), ": ",
                      size ? Size(item.get<uint64_t>()) : Scalar(item), "\n");
    } else {
      absl::StrAppend(&text, indent, Shown(name), ":", item.empty() ? " none" : "", "\n");
      Append(item, absl::StrCat(indent, "  "), text);
    }
  }
}

}  // namespace

std::string Report::ToText() const {
  std::string text;
  Append(facts, "", text);
  if (problems.empty()) return text + "problems: none\n";
  text += "problems:\n";
  Append(problems, "  ", text);
  return text;
}

}  // namespace weft
