#include "runtime/authority/rank_list.h"

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

constexpr int kMaxNamed = 8;

}  // namespace

void RankList::Add(Rank rank, std::string_view note) {
  if (++count_ > kMaxNamed) return;
  absl::StrAppend(&names_, count_ > 1 ? ", " : "", rank, std::string(note));
}

std::string RankList::Text() const {
  std::string text = absl::StrCat(count_ == 1 ? "rank " : "ranks ", names_);
  if (count_ > kMaxNamed) absl::StrAppend(&text, " and ", count_ - kMaxNamed, " more");
  return text;
}

}  // namespace weft
