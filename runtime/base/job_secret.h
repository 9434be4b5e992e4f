// What the ranks of one job know, and nobody else does: where they meet over a network, each
// proves by it that it belongs to the job. The launcher makes it and hands it down over the
// socket that a rank inherits; it is never in an argument or the environment.
#ifndef WEFT_RUNTIME_BASE_JOB_SECRET_H_
#define WEFT_RUNTIME_BASE_JOB_SECRET_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace weft {

using JobSecret = std::array<uint8_t, 32>;

// Fresh random bytes.
void FillAtRandom(std::span<uint8_t> bytes);
JobSecret MakeJobSecret();

// What only those who know the secret can make of `parts`, one after the other: HMAC-SHA256.
using Hmac = std::array<uint8_t, 32>;
Hmac MakeHmac(const JobSecret& secret, std::initializer_list<std::span<const uint8_t>> parts);

// Whether both are the same, in a time that tells nothing of where they differ.
bool SameInConstantTime(std::span<const uint8_t> a, std::span<const uint8_t> b);

}  // namespace weft
#endif  // WEFT_RUNTIME_BASE_JOB_SECRET_H_
