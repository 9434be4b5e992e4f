#include "examples/options.h"

#include <charconv>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace examples {
namespace {

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts..., "; --help tells the options"));
}

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

int Shift(std::string_view suffix) {
  return suffix.empty() ? 0 : suffix == "K" ? 10 : suffix == "M" ? 20 : suffix == "G" ? 30 : -1;
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number;
  const char* end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  const int shift = Shift(std::string_view(behind, static_cast<size_t>(end - behind)));
  if (shift < 0 || number > UINT64_MAX >> shift) return std::nullopt;
  return number << shift;
}

}  // namespace

void OptionParser::AddText(std::string_view name, std::string* value) {
  options_.push_back({name, value});
}
void OptionParser::AddFlag(std::string_view name, bool* value) {
  options_.push_back({name, value});
}
void OptionParser::AddNumber(std::string_view name, uint64_t* value, uint64_t at_least) {
  options_.push_back({name, Number{value, at_least}});
}

const OptionParser::Option* OptionParser::Find(std::string_view name) const {
  for (const Option& option : options_) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

absl::Status OptionParser::Parse(int argc, const char* const* argv) const {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("--")) return Invalid("unexpected argument ", argv[i]);
    const size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const Option* option = Find(name);
    if (option == nullptr) return Invalid("unknown option ", View(name));

    if (bool* const* flag = std::get_if<bool*>(&option->target)) {
      if (equals != argument.npos) return Invalid(View(name), " takes no value");
      **flag = true;
      continue;
    }
    if (equals == argument.npos && i + 1 == argc) return Invalid(View(name), " needs a value");
    const std::string_view value =
        equals == argument.npos ? std::string_view(argv[++i]) : argument.substr(equals + 1);
    if (std::string* const* text = std::get_if<std::string*>(&option->target)) {
      **text = value;
      continue;
    }
    const Number& number = std::get<Number>(option->target);
    const std::optional<uint64_t> parsed = ParseNumber(value);
    if (!parsed || *parsed < number.at_least) {
      return Invalid(View(name), " needs a whole number of at least ", number.at_least, ", not \"",
                     View(value), "\"");
    }
    *number.value = *parsed;
  }
  return absl::OkStatus();
}

}  // namespace examples
