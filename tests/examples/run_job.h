// Runs an example under weftrun, to its end, and keeps what it wrote.
#ifndef WEFT_TESTS_EXAMPLES_RUN_JOB_H_
#define WEFT_TESTS_EXAMPLES_RUN_JOB_H_

#include <string>
#include <vector>

namespace examples {

struct JobResult {
  int code = -1;  // Exit status; -1 when weftrun did not exit by itself.
  std::string out;
  std::string err;
};

// Runs `program` (its path in the build tree: "examples/hello") on `ranks` ranks.
// `launcher` are more options for weftrun. A job that hangs is ended, code 124.
JobResult RunJob(int ranks, const std::string& program,
                 const std::vector<std::string>& arguments = {},
                 const std::vector<std::string>& launcher = {});

}  // namespace examples
#endif  // WEFT_TESTS_EXAMPLES_RUN_JOB_H_
