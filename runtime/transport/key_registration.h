// The registration of a segment for which a transport holds nothing: only its key. Immutable; any
// thread.
#ifndef WEFT_RUNTIME_TRANSPORT_KEY_REGISTRATION_H_
#define WEFT_RUNTIME_TRANSPORT_KEY_REGISTRATION_H_

#include <string>
#include <utility>

#include "runtime/transport/transport.h"

namespace weft {

class KeyRegistration final : public Registration {
 public:
  explicit KeyRegistration(std::string key) : key_(std::move(key)) {}
  std::string key() const override { return key_; }

 private:
  const std::string key_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_KEY_REGISTRATION_H_
