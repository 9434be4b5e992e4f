// The lines of a text, one by one, with their numbers.
#ifndef WEFT_EXAMPLES_BFS_LINES_H_
#define WEFT_EXAMPLES_BFS_LINES_H_

#include <cstddef>
#include <string_view>

namespace bfs {

// Looks at `text`, which must outlive it.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // Moves to the next line; false at the end.
  bool Next() {
    if (rest_.empty()) return false;
    const size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++number_;
    return true;
  }

  std::string_view line() const { return line_; }
  // From 1.
  size_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::string_view line_;
  size_t number_ = 0;
};

}  // namespace bfs
#endif  // WEFT_EXAMPLES_BFS_LINES_H_
