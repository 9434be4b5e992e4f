// The main of a program that does nothing but run on a World.
#ifndef WEFT_MAIN_H_
#define WEFT_MAIN_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "weft/world.h"

namespace weft {

// Joins with `options`, runs `run`, leaves; returns the exit status for main: 0.
// An error of any of the three is told in one line on standard error, and ends
// the job with exit status 1.
int Main(absl::FunctionRef<absl::Status(World&)> run, const World::Options& options);
int Main(absl::FunctionRef<absl::Status(World&)> run);

}  // namespace weft
#endif  // WEFT_MAIN_H_
