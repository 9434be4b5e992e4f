// Looks the functions of a library of rdma-core up, and remembers the first that is missing.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_SYMBOLS_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_SYMBOLS_H_

#include <dlfcn.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weft {

class Symbols {
 public:
  // `lack`: what there is none of without it, for errors.
  Symbols(const char* name, const char* lack)
      : name_(name), lack_(lack), library_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}

  // kNotFound, for want of `packages`: there is no such library.
  absl::Status Opened(absl::string_view packages) const {
    if (library_ != nullptr) return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat(lack_, ": ", dlerror(), "; install rdma-core's ", packages));
  }

  template <typename Function>
  void Find(const char* name, Function*& function) {
    void* const symbol = dlsym(library_, name);
    if (symbol == nullptr && missing_.empty()) missing_ = name;
    function = reinterpret_cast<Function*>(symbol);
  }
  // kNotFound: one was missing.
  absl::Status Found() const {
    if (missing_.empty()) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat(lack_, ": ", name_, " has no ", missing_,
                                            "; Weft needs rdma-core 35 or later"));
  }

 private:
  const char* const name_;
  const char* const lack_;
  void* const library_;
  std::string missing_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_SYMBOLS_H_
