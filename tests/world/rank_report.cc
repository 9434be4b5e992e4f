#include "tests/world/rank_report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "runtime/base/deadline.h"

namespace weft::testing {

void Tell(std::string_view who, std::string_view what) {
  std::string line(who);
  line += ' ' + std::to_string(MonotonicNanos()) + ' ';
  line += what;
  std::ranges::replace(line, '\n', ' ');
  line += '\n';
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) _exit(1);  // Nobody listens.
}

void TellWrong(std::string_view what) { Tell("wrong", what); }

bool OverVerbs() {
  const char* const transports = std::getenv("WEFT_TRANSPORTS");
  return transports != nullptr && std::string_view(transports) == "verbs";
}

bool NamesTheKilled(const absl::Status& status, uint32_t victim) {
  const std::string message(status.message());
  return absl::IsUnavailable(status) &&
         message.find("rank " + std::to_string(victim)) != std::string::npos &&
         (message.find("killed by signal 9") != std::string::npos ||
          (OverVerbs() && message.find("cannot be reached any more") != std::string::npos));
}

std::vector<Report> ParseReports(const std::string& output) {
  std::vector<Report> reports;
  std::istringstream lines(output);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    Report report;
    if (!(fields >> report.who >> report.when)) continue;
    std::getline(fields >> std::ws, report.what);
    reports.push_back(report);
  }
  return reports;
}

std::vector<Report> ReportsOf(const std::vector<Report>& reports, std::string_view who) {
  std::vector<Report> found;
  std::ranges::copy_if(reports, std::back_inserter(found),
                       [&](const Report& report) { return report.who == who; });
  return found;
}

}  // namespace weft::testing
