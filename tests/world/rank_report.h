// How the ranks of a job tell a test that drives weftrun what they saw: lines
// "WHO WHEN WHAT" on standard output, each in one write, so that they are whole
// whatever kills the rank next. Any thread may call.
#ifndef WEFT_TESTS_WORLD_RANK_REPORT_H_
#define WEFT_TESTS_WORLD_RANK_REPORT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace weft::testing {

struct Report {
  std::string who;   // "victim", "wrong", or a rank.
  int64_t when = 0;  // Monotonic nanoseconds.
  std::string what;
};

// A rank's side. Newlines in `what` become spaces.
void Tell(std::string_view who, std::string_view what);
// Tells of something that must not be, which fails the test.
void TellWrong(std::string_view what);
// Whether the job's operations go through RDMA.
bool OverVerbs();
// Whether `status` is kUnavailable and says that `victim` was killed by signal 9; over RDMA,
// where its device may notice first, perhaps only that it cannot be reached.
bool NamesTheKilled(const absl::Status& status, uint32_t victim);

// The driver's side: the reports among the lines of `output`.
std::vector<Report> ParseReports(const std::string& output);
// Those of `who`.
std::vector<Report> ReportsOf(const std::vector<Report>& reports, std::string_view who);

}  // namespace weft::testing
#endif  // WEFT_TESTS_WORLD_RANK_REPORT_H_
