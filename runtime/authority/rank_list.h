// Ranks in a message: a few by name, the rest by number. Used by one thread.
#ifndef WEFT_RUNTIME_AUTHORITY_RANK_LIST_H_
#define WEFT_RUNTIME_AUTHORITY_RANK_LIST_H_

#include <string>
#include <string_view>

#include "weft/rank.h"

namespace weft {

class RankList {
 public:
  // `note` comes behind the rank's number.
  void Add(Rank rank, std::string_view note = "");

  bool empty() const { return count_ == 0; }
  // "rank 3", "ranks 0, 1 and 4 more"
  std::string Text() const;

 private:
  std::string names_;
  int count_ = 0;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_AUTHORITY_RANK_LIST_H_
