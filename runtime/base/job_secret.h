// What the ranks of one job know, and nobody else does: where they meet over a network, each
// proves by it that it belongs to the job. The launcher makes it and hands it down over the
// socket that a rank inherits; it is never in an argument or the environment.
#ifndef WEFT_RUNTIME_BASE_JOB_SECRET_H_
#define WEFT_RUNTIME_BASE_JOB_SECRET_H_

#include <array>
#include <cstdint>

namespace weft {

using JobSecret = std::array<uint8_t, 32>;

// Fresh random bytes.
JobSecret MakeJobSecret();

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_JOB_SECRET_H_
