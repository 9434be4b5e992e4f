// The launcher: the process that the user started and waits for. It makes the
// output pipes, forks the guard, carries the ranks' output, passes the user's
// signals on, and exits with the guard's verdict. It stays in its caller's
// session and group, and is a subreaper, so that it can end what a guard that
// was killed has left.
#ifndef WEFT_TOOLS_WEFTRUN_LAUNCHER_H_
#define WEFT_TOOLS_WEFTRUN_LAUNCHER_H_

#include "tools/weftrun/options.h"

namespace weft {

// Runs the job to its end; returns weftrun's exit status. Once a process.
int Launch(const Options& options);

// Prints what would be started.
void PrintPlan(const Options& options);

}  // namespace weft
#endif  // WEFT_TOOLS_WEFTRUN_LAUNCHER_H_
