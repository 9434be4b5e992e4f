#include "runtime/base/job_secret.h"

#include <sodium.h>

namespace weft {

JobSecret MakeJobSecret() {
  JobSecret secret;
  randombytes_buf(secret.data(), secret.size());
  return secret;
}

}  // namespace weft
