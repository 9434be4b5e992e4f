#include "runtime/base/job_secret.h"

#include <sodium.h>

namespace weft {

void FillAtRandom(std::span<uint8_t> bytes) { randombytes_buf(bytes.data(), bytes.size()); }

JobSecret MakeJobSecret() {
  JobSecret secret;
  FillAtRandom(secret);
  return secret;
}

Hmac MakeHmac(const JobSecret& secret, std::initializer_list<std::span<const uint8_t>> parts) {
  Hmac hmac;
  static_assert(sizeof(hmac) == crypto_auth_hmacsha256_BYTES);
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, secret.data(), secret.size());
  for (const std::span<const uint8_t> part : parts) {
    crypto_auth_hmacsha256_update(&state, part.data(), part.size());
  }
  crypto_auth_hmacsha256_final(&state, hmac.data());
  return hmac;
}

bool SameInConstantTime(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace weft
