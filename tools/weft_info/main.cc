// weft-info: what Weft finds on this machine, what it would choose, and what is wrong.
#include <cstdio>
#include <string_view>

#include "tools/weft_info/choice.h"
#include "tools/weft_info/machine.h"
#include "tools/weft_info/rdma.h"
#include "tools/weft_info/report.h"

namespace {

constexpr char kHelp[] =
    R"(weft-info: what Weft finds on this machine, what a rank would choose here, and why.

usage: weft-info [--json]

  --json    the same as one JSON object
  --help    this

It shows the machine and its limits, the RDMA devices with their ports and addresses,
the options in force with what they mean, what would carry operations between ranks
of one node and between nodes, and what is wrong, with its cure. Run it as the
ranks would run: with their environment, limits and user.

exit status: 0; 1 when there are problems, 2 when it was misused
)";

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(kHelp, stdout);
      return 0;
    }
    if (argument != "--json") {
      std::fprintf(stderr, "weft-info: there is no flag %s; see weft-info --help\n", argv[i]);
      return 2;
    }
    json = true;
  }
  weft::Report report;
  weft::AddMachine(report);
  const auto ports = weft::AddRdma(report);
  weft::AddChoice(ports, report);
  const std::string text = json ? report.ToJsonText() : report.ToText();
  std::fputs(text.c_str(), stdout);
  return report.problems.empty() ? 0 : 1;
}
